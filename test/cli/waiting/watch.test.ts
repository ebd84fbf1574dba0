/** Which questions a waiting command shows: those that its own request waits for. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { watchQuestions } from '../../../src/cli/waiting/watch.ts';

const origin = 'https://notes.example';

let stderr: string;
beforeEach(() => {
  stderr = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean((stderr += text)));
});
afterEach(() => vi.restoreAllMocks());

/** A broker at which these questions about the command line wait. */
function brokerWith(...questions: { readonly [name: string]: unknown }[]) {
  const approvalRequests = questions.map((question) => ({ kind: 'allow', app: 'cli', ...question }));
  return {
    capabilities: [],
    request: (): Promise<unknown> => Promise.resolve({ requests: approvalRequests, signIns: [] }),
    onNotification: () => () => undefined,
  };
}

describe('a login', () => {
  const resource = `${origin}/mcp`;
  const waiting = {
    kind: 'signIn',
    app: '',
    resource,
    issuer: origin,
    url: `${origin}/authorize`,
    startUrl: 'http://127.0.0.1:1/x',
  };

  it('is told the way without a browser only if none was found, here or by the broker', async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv('WAYLAND_DISPLAY', undefined);
    vi.stubEnv('PATH', '');
    const browserError = 'No browser was opened.';
    const way = `machine, in another terminal (this command goes on then): keyturn login ${resource} --account "work" --paste`;
    for (const [env, failure, isTold] of [
      [{}, { browserError }, true],
      [{}, {}, false],
      [{ DISPLAY: ':0' }, { browserError }, false],
      [{ BROWSER: 'true' }, { browserError }, false],
    ] as const) {
      for (const name of ['DISPLAY', 'BROWSER'] as const)
        vi.stubEnv(name, (env as { readonly [name: string]: string })[name]);
      stderr = '';
      await watchQuestions(brokerWith({ id: 'aaaaaaaa', ...waiting, ...failure, account: 'work' }), {
        resource,
      });
      expect(stderr.includes(way), JSON.stringify(env)).toBe(isTold);
    }
  });

  it('opens its page by $BROWSER of this terminal where the broker has no browser', async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    const browserError = 'No browser was opened.';
    const login = async (question: object): Promise<void> =>
      watchQuestions(
        brokerWith({ id: 'a', ...waiting, own: true, ...question }),
        { resource },
        { earlier: new Set() },
      );
    for (const [browser, isTold] of [
      ['true', false],
      [undefined, true],
      ['false', true],
      ['true --new-window %s:false', false],
    ] as const) {
      vi.stubEnv('BROWSER', browser);
      stderr = '';
      await login({ browserError });
      expect(stderr.includes(browserError), browser).toBe(isTold);
    }
  });
});

it('an answer without state, and a browser that failed, are told once', async () => {
  const question: Record<string, unknown> = { id: 'aaaa', kind: 'signIn', resource: origin, issuer: origin };
  let change: (method: string) => void = () => undefined;
  const broker = {
    ...brokerWith(question),
    request: async () => ({ requests: [{ ...question, url: `${origin}/authorize` }], signIns: [] }),
    onNotification: (listener: typeof change) => (change = listener),
  };
  await watchQuestions(broker as never, { resource: origin });
  question['browserError'] = 'No browser was opened: xdg-open ended with exit code 3.';
  question['stateless'] = 'invalid_scope\u001b[2J';
  for (let times = 0; times < 2; times += 1) {
    change('request.changed');
    await vi.waitFor(() => expect(stderr).toContain(String.raw`"invalid_scope\u001b[2J"`));
  }
  expect(stderr.match(/without `state`|exit code 3/g)).toHaveLength(2);
});

describe('a command that waits for a permission', () => {
  it('shows how to give another account than the one that is offered', async () => {
    const resource = `${origin}/mcp`;
    const signIns = [
      { endpoint: resource, account: 'work', state: 'active' },
      { endpoint: resource, account: 'home', state: 'active' },
      { endpoint: resource, account: 'former', state: 'revoked' },
      { endpoint: `${origin}/other`, account: 'other', state: 'active' },
    ];
    const broker = brokerWith({ id: 'bbbbbbbb', resource, account: 'home', scope: 'read' });
    const request = async (method: string): Promise<unknown> =>
      method === 'signIn.list' ? { signIns } : broker.request();
    await watchQuestions({ ...broker, request }, { resource });
    expect(stderr.match(/keyturn app allow .*/g)).toEqual([
      `keyturn app allow cli ${resource} --scope "read" --account "work"   as "work" instead`,
    ]);
  });

  it('shows its own question, not one about another part of the server or, if not its own, more scopes', async () => {
    const resource = `${origin}/mcp`;
    const scoped = [
      { id: 'd', resource, scope: 'read write' },
      { id: 'e', resource, scope: 'read' },
      { id: 'f', resource, scope: 'read list', appProcess: { pid: process.pid } },
    ];
    const broker = brokerWith(
      { id: 'a', resource: origin },
      { id: 'b', resource },
      { id: 'c', resource: `${resource}/inner` },
      ...scoped,
    );
    for (const [scope, ids] of [
      [undefined, 'bdef'],
      ['read', 'ef'],
    ] as const) {
      stderr = '';
      await watchQuestions(broker, { resource: `${resource}/`, scope });
      expect(stderr.match(/(?<=request approve )\w/g)?.join('')).toBe(ids);
    }
  });
});
