/** The broker's facts in the wire's words. */
import { expect, it } from 'vitest';
import { explanationAnswer } from '../../../src/daemon/methods/answers.ts';
import { approvalRequestAnswer } from '../../../src/daemon/methods/request-methods.ts';
import { brokerRig, inWorld } from '../../broker/rig.ts';
import { worldOfFile } from '../../broker/places.ts';

const world = worldOfFile();

it('a timeline shows repetitions at the time of the last one', async () => {
  const rig = await brokerRig(inWorld(world));
  const signIn = await rig.login();
  const rows = [
    { time: 1000, event: 'token', outcome: 'ok', app: 'cli' },
    { time: 5000, event: 'revoke', outcome: 'confirmed' },
    { time: 4000, event: 'token', outcome: 'ok', app: 'cli', count: 3, first: 2000, last: 4000 },
  ];
  const owner = { role: 'owner', signal: new AbortController().signal } as Parameters<
    typeof explanationAnswer
  >[2];
  const { timeline } = explanationAnswer(rig.broker, signIn, owner, rows);
  expect(timeline.map(({ event, at }) => `${event} ${at}`)).toEqual(['token 1', 'token 4', 'revoke 5']);
});

it('a host with a Cyrillic letter is in its xn-- form in a question about access of a program', () => {
  const signIn = {
    id: 'g1',
    issuer: 'https://l\u043egin.example',
    account: 'bob@notes.example',
    isKeyBound: false,
    otherAccounts: [],
    isAboutAccountOnly: false,
  };
  const endpoint = 'https://notes.example/mcp';
  const question = { kind: 'allow', appId: 'c1', appName: 'editor', endpoint, signIn } as const;
  const { issuer } = approvalRequestAnswer(
    { id: '1a2b3c4d', question, createdAt: 0, card: '1a2b3c4d' },
    true,
  );
  expect(issuer).toBe('https://xn--lgin-55d.example');
});
