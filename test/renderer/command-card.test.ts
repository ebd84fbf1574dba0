/** What the card of a command says, over answers that are written down: what would change, and who asks. */
import { describe, expect, it } from 'vitest';
import { exampleAnswer, exampleNow } from '../support/homes/example-desk.ts';
import {
  approvable,
  button,
  idle,
  openDetails,
  releaseTimers,
  takesKeys,
  timerHeld,
  windowsOfTests,
} from './page-window.ts';

const openWindow = windowsOfTests();

it('the card of another account names server, issuer and both accounts', async () => {
  const question = {
    id: 'q1',
    kind: 'account' as const,
    resource: 'https://notes.example/mcp',
    issuer: 'https://login.example',
    account: 'bob@notes.example',
    accounts: ['alice@notes.example'],
    createdAt: exampleNow,
    state: 'open',
  };
  const answers: unknown[] = [];
  const example = exampleAnswer({ 'request.list': { requests: [question] } });
  const { page } = await openWindow({
    hash: 'card',
    answer: async (channel, params) => {
      if (channel === 'request.answer') answers.push(params);
      return example(channel, params);
    },
  });
  for (const text of [question.resource, question.issuer, question.account, ...question.accounts]) {
    await page.getByText(text, { exact: true }).waitFor();
  }
  await approvable(page);
  await button(page, 'Keep it').click();
  await expect.poll(() => answers).toEqual([{ id: 'q1', answer: 'yes' }]);
});

describe('the card of a command', () => {
  const asker = {
    verified: true,
    pid: 7,
    executable: '/usr/bin/node',
    file: 'interpreter' as const,
    claim: { script: 'bin.js', arguments: ['bin.js', 'allow'], isCut: true, folder: '/home/anna' },
    enclosures: [{ kind: 'unit' as const, name: 'app-terminal.scope' }],
    changeableBy: 'group' as const,
    parents: ['zsh'],
  };
  const common = { id: 'q1', kind: 'command' as const, asker, createdAt: exampleNow, state: 'open' };

  const reached: { readonly resources: string[] } = { resources: ['https://notes.example/mcp'] };
  const changes = [
    [
      { command: 'allow', app: 'editor', resource: 'https://notes.example/mcp', scope: 'notes:read' },
      [
        'A command wants to give editor access to notes.example',
        'editor',
        'https://notes.example/mcp',
        'Read notes',
        'until you revoke it',
      ],
    ],
    [
      { command: 'allow', app: 'reader', resource: 'https://notes.example/mcp', until: exampleNow },
      ['reader', `${new Date(exampleNow * 1000).getFullYear()}, `],
    ],
    [
      { command: 'oauthClient', issuer: 'https://login.example', clientId: 'by-hand' },
      ['A command wants to add an OAuth client for login.example', 'https://login.example', 'by-hand'],
    ],
    [
      {
        command: 'oauthClient',
        issuer: 'https://login.example',
        clientId: 'by-machine',
        grantType: 'id-jag',
        authMethod: 'private_key_jwt',
        redirectUri: 'http://127.0.0.1:8123/back',
        idp: 'https://company.example',
        replaces: true,
      },
      [
        'This client gets access without your approval',
        'It replaces the current client',
        'enterprise-managed',
        'Private key',
        'http://127.0.0.1:8123/back',
        'https://company.example',
      ],
    ],
    [
      {
        command: 'oauthClient',
        issuer: 'https://login.example',
        grantType: 'jwt-bearer',
        assertion: 'env:JOB_TOKEN',
      },
      ['workload identity', 'env:JOB_TOKEN', 'This client gets access without your approval'],
    ],
    [
      { command: 'oauthClient', issuer: 'https://login.example', grantType: 'client_credentials' },
      ['Client credentials (no user)', 'This client gets access without your approval'],
    ],
    [
      { command: 'endDenial', app: 'editor', resource: 'https://notes.example/mcp', scope: 'notes:write' },
      [
        'A command wants to undo the denial of editor',
        'editor',
        'https://notes.example/mcp',
        'The app can then ask you again',
      ],
    ],
    [
      {
        command: 'signIn',
        resource: 'https://notes.example/mcp',
        issuer: 'https://login.example',
        account: 'work',
        scope: 'notes:read',
        method: 'paste',
        newClient: true,
      },
      [
        'A command wants to sign in to notes.example',
        'Keyturn registers again',
        'https://notes.example/mcp',
        'https://login.example',
        'work',
        'Read notes',
        'the command takes its final URL',
        'the account that signs in on that page',
      ],
    ],
    [
      { command: 'exception', server: 'https://notes.example/mcp', exception: 'no-resource' },
      [
        'A command wants to add a security exception',
        'https://notes.example/mcp',
        'Don’t require tokens to be limited',
        'Danger',
      ],
    ],
    [
      { command: 'exception', server: 'https://tools.intern.example', exception: 'private-address' },
      ['tools.intern.example', 'A command wants to add a security exception', 'private network', 'Danger'],
    ],
    [
      { command: 'settings', setting: { name: 'browser', value: 'firefox' } },
      ['A command wants to change the setting', 'browser', 'firefox'],
    ],
    [{ command: 'settings', setting: { name: 'browser' } }, ['not set (default)']],
    [{ command: 'unlock' }, ['A command wants to unlock Keyturn']],
    [{ command: 'passphrase' }, ['A command wants to change Keyturn’s passphrase']],
    [
      {
        command: 'forward',
        forward: { label: 'build.example', hostKey: `SHA256:${'k'.repeat(43)}` },
        ...reached,
        until: exampleNow,
      },
      [
        'A command wants to let programs on build.example ask for access',
        'build.example',
        'kkk',
        'https://notes.example/mcp',
      ],
    ],
    [{ command: 'resume' }, ['A command wants to resume all access', 'The pause ends']],
  ] as const;

  // The first part is waited for: no card before it may say the same.
  it('says what would change, and who asks', async () => {
    const interactions = changes.map(([fields], at) => ({ ...common, ...fields, id: `q${at}` }));
    const { page } = await openWindow({
      answer: exampleAnswer({ 'request.list': { requests: interactions } }),
    });
    for (const [at, [{ command }, parts]] of changes.entries()) {
      await page.evaluate(`location.hash = "card/q${at}"`);
      await page.getByText(parts[0]).first().waitFor();
      await openDetails(page);
      const text = (await page.locator('.question').innerText()).toLowerCase();
      const who = [
        '/usr/bin/node',
        'This file runs scripts',
        'Process 7',
        'Claimed by',
        'bin.js allow …',
        '/home/anna',
      ];
      const more = ['the unit app-terminal.scope', 'other users in the file’s group can change'];
      for (const part of [...parts, ...who, ...more]) {
        expect(text, command).toContain(part.toLowerCase());
      }
      expect(await page.locator('.question .good').count(), command).toBe(0);
      // The command runs here: only what it wants to open leads elsewhere.
      expect(text, command).not.toContain('come through a forward');
      // A private address is confirmed for a host.
      expect(text, command).not.toContain('https://tools');
    }
  });

  it('keeps the rules of every card', async () => {
    const answers: unknown[] = [];
    const example = exampleAnswer({
      'request.list': { requests: [{ ...common, command: 'unlock' }] },
    });
    const { page } = await openWindow({
      hash: 'card',
      areTimersHeld: true,
      answer: async (channel, params) => {
        if (channel === 'request.answer') answers.push(params);
        return example(channel, params);
      },
    });
    const approve = button(page, 'Allow');
    await timerHeld(page);
    expect(await approve.isDisabled()).toBe(true);
    // Of somebody who typed elsewhere when the card came up, and who still holds the key a second later.
    await page.keyboard.down('Enter');
    await page.keyboard.press('Escape');
    await approve.press('Space');
    await releaseTimers(page);
    await takesKeys(page);
    await button(page, 'Don’t allow').focus();
    await page.keyboard.down('Enter');
    await page.keyboard.up('Enter');
    await approvable(page);
    await page.evaluate('document.querySelector("button.primary").click()');
    await approve.press('Space');
    await idle(page);
    await button(page, 'Don’t allow').press('Enter');
    await page.getByText('The command was not allowed.').waitFor();
    await expect.poll(() => answers).toEqual(['yes', 'later'].map((answer) => ({ id: 'q1', answer })));
  });
});
