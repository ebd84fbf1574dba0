/** Attack: a program leaves its questions behind, and tries to gain by them what one that waits could not. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../../src/client/index.ts';
import { refusal } from '../broker/rig.ts';
import { until } from '../support/home.ts';
import { askBroker, questionOf } from '../support/homes/ask-broker.ts';
import { commonHome } from '../support/homes/common-home.ts';
import * as owner from '../support/homes/owner-acts.ts';
import { connected, paired, pairedProgram } from '../support/processes/program.ts';

const there = commonHome();
beforeAll(() => owner.signIn(there.home, there.resource));

/** Asks so that the broker goes on alone at once. */
const leave = async (program: Connection, params: object = {}) =>
  refusal(
    program.request('token.get', {
      resource: there.resource,
      interaction: 'allow',
      detached: true,
      timeout: 0,
      ...params,
    }),
  );

const unattended = async (name: string) =>
  (await connected(there.home, name)).getToken({ resource: there.resource }).then(
    () => 'token',
    ({ reason }: { readonly reason: string }) => reason,
  );

describe('a question that its program left', () => {
  it('is about the program’s key: approval is valid though the process ended', async () => {
    const { home } = there;
    const program = await pairedProgram(home, 'a-leaver');
    await paired(home, 'a-bystander');
    expect(await leave(program)).toMatchObject({ reason: 'consent_pending' });
    program.close();
    await owner.answer(home, (await questionOf(home, 'allow')).id, 'approve');
    await until('it is allowed', async () => (await unattended('a-leaver')) === 'token');
    expect(await unattended('a-bystander')).toBe('consent_required');
  });

  it('ends with the program’s pairing, and its name paired again has nothing', async () => {
    const { home } = there;
    const program = await pairedProgram(home, 'an-unpaired-one');
    await leave(program);
    program.close();
    const { id } = await questionOf(home, 'allow');
    await askBroker(home, 'app.remove', { app: 'an-unpaired-one' });
    expect(await owner.nothingIsAsked(home)).toBe(true);
    const answer = askBroker(home, 'request.answer', { id, answer: 'approve' });
    await expect(answer).rejects.toMatchObject({ reason: 'not_found' });
    await paired(home, 'an-unpaired-one');
    expect(await unattended('an-unpaired-one')).toBe('consent_required');
  });

  it('ends when the user revokes the program’s permission there', async () => {
    const { home, resource } = there;
    const program = await pairedProgram(home, 'a-revoked-one');
    await askBroker(home, 'permission.set', {
      app: 'a-revoked-one',
      resource,
      decision: 'allow',
      scope: 'notes:read',
    });
    await leave(program, { scope: 'notes:write' });
    const waiting = refusal(
      program.request('token.get', { resource, interaction: 'allow', scope: 'notes:list' }),
    );
    await until('both are asked', async () => {
      const { requests } = await askBroker(home, 'request.list', {});
      return requests.length === 2;
    });
    await askBroker(home, 'permission.revoke', { app: 'a-revoked-one', resource });
    expect(await owner.nothingIsAsked(home)).toBe(true);
    expect(await waiting).toMatchObject({ reason: 'consent_required' });
    program.close();
  });
});
