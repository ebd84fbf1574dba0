/** The Python client beside the wire of docs/reference/wire-protocol.md: its proofs, where it looks, and what it refuses. */
import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { KeyturnError, reasons } from '../../src/base/errors.ts';
import { homePaths, type HomePaths } from '../../src/base/paths.ts';
import { prepareFolder } from '../../src/base/private/private-folder.ts';
import { homeCapability } from '../../src/ipc/wire/capabilities.ts';
import { appKeyFile, writeAppKeyFile } from '../../src/client/app-key-file.ts';
import { homeId, startRig, temporaryHome } from '../ipc/rig.ts';
import { keyturnPy, pythonProgram } from '../support/processes/python.ts';
import { squat } from './squatter.ts';

const vectorsFile = path.join(import.meta.dirname, '..', 'ipc', 'wire', 'handshake.vectors.json');

const homeOf = (paths: HomePaths): Record<string, string> => ({ KEYTURN_HOME: path.dirname(paths.run) });

/** Pairs without a broker: the key file alone. */
function enrolled(paths: HomePaths): string {
  const file = appKeyFile(paths, 'notes');
  writeAppKeyFile(file, { appId: 'abc', key: randomBytes(32).toString('base64url'), brokerId: homeId });
  return file;
}

const ask = async (paths: HomePaths) =>
  keyturnPy(['token', 'notes', 'https://notes.example/mcp'], homeOf(paths));

test('makes the proofs of the test vectors', async () => {
  const code = `
import json, sys, keyturn
for v in json.load(open(sys.argv[1])):
    offer = {"version": v["version"], "brokerId": v["brokerId"], "nonce": v["brokerNonce"], "capabilities": v["capabilities"]}
    print(*keyturn._proofs(keyturn._bytes(v["K"]), v["helloLine"].encode(), offer, v["brokerProof"]))
`;
  const vectors = JSON.parse(readFileSync(vectorsFile, 'utf8')) as Record<string, string>[];
  const { stdout, stderr } = await pythonProgram(code, [vectorsFile], {});
  expect(stderr).toBe('');
  expect(stdout.trim().split('\n')).toEqual(vectors.map((v) => `${v['brokerProof']} ${v['clientProof']}`));
});

test('exits as the command does', async () => {
  const code =
    'import keyturn, json; print(json.dumps({r: c for c, rs in keyturn._EXIT_CODES.items() for r in rs.split()}))';
  const { stdout } = await pythonProgram(code, [], {});
  const exits = Object.entries(reasons).map(([reason, { exit }]) => [reason, exit] as const);
  expect(JSON.parse(stdout)).toEqual(Object.fromEntries(exits.filter(([, exit]) => exit !== 1)));
});

test.each<Record<string, string>>([
  { KEYTURN_HOME: '/srv/keyturn', HOME: '/home/ann', XDG_RUNTIME_DIR: '/run/user/7' },
  { HOME: '/home/ann', XDG_RUNTIME_DIR: '/run/user/7' },
  { HOME: '/home/ann', XDG_RUNTIME_DIR: 'relative', XDG_CONFIG_HOME: 'relative', XDG_STATE_HOME: '/state' },
])('looks where a broker with this environment lies: %o', async (env) => {
  const code = 'import keyturn, os; print(*keyturn._home_folders(os.environ), sep="\\n")';
  const { config, state, run } = homePaths(env, 'linux');
  expect((await pythonProgram(code, [], env)).stdout).toBe(`${config}\n${state}\n${run}\n`);
});

test.each<Record<string, string>>([{ HOME: '' }, { HOME: '/home/ann', KEYTURN_HOME: 'relative' }])(
  'refuses an environment that names no folder: %o',
  async (env) => {
    expect(await keyturnPy(['token', 'a', 'https://notes.example'], env)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('reason: invalid_request'),
    });
  },
);

describe('what is not the user’s alone', () => {
  const openTo: Readonly<Record<string, (paths: HomePaths, socket: string) => void>> = {
    'a folder that others may enter': ({ run }) => chmodSync(run, 0o755),
    'a socket behind a link': (_paths, socket) => {
      renameSync(socket, `${socket}.real`);
      symlinkSync(`${socket}.real`, socket);
    },
  };
  test.each(Object.entries(openTo))('is refused: %s', async (_what, open) => {
    const paths = temporaryHome();
    enrolled(paths);
    const squatter = await squat(paths, () => undefined);
    open(paths, path.join(paths.run, 'broker.sock'));
    const stderr = expect.stringContaining('reason: socket_unsafe');
    expect(await ask(paths)).toMatchObject({ code: 8, stderr });
    expect(squatter.heard()).toBe('');
  });

  test('is refused: a key that others may read, or a link to one', async () => {
    const paths = temporaryHome();
    const file = enrolled(paths);
    chmodSync(file, 0o640);
    expect((await ask(paths)).stderr).toContain('reason: file_unreadable');
    chmodSync(file, 0o600);
    renameSync(file, `${file}.real`);
    symlinkSync(`${file}.real`, file);
    expect((await ask(paths)).stderr).toContain('reason: file_unreadable');
  });
});

describe('a program in the broker’s place', () => {
  const offer = {
    version: 1,
    brokerId: homeId,
    nonce: 'A'.repeat(43),
    capabilities: [],
    proof: 'A'.repeat(43),
  };
  test.each<[string, object]>([
    ['cannot prove itself', { result: offer }],
    ['chooses another version', { result: { ...offer, version: 2 } }],
    [
      'refuses in words of its own',
      { error: { code: -1, message: 'squatted', data: { reason: 'unpaired', hint: 'squatted' } } },
    ],
  ])('is told nothing but a hello when it %s, and its words are not repeated', async (_what, answer) => {
    const paths = temporaryHome();
    const file = enrolled(paths);
    const before = readFileSync(file, 'utf8');
    const squatter = await squat(paths, () => JSON.stringify({ jsonrpc: '2.0', id: 1, ...answer }));
    const { code, stderr } = await ask(paths);
    expect({ code, stderr }).toMatchObject({
      code: expect.toBeOneOf([4, 7, 8]),
      stderr: expect.not.stringContaining('squatted'),
    });
    expect(stderr).toMatch(/reason: (handshake_failed|unpaired|frame_invalid)\n$/);
    expect(squatter.heard().trim().split('\n')).toHaveLength(1);
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  const half = String.raw`\ud800`;
  test.each<[string, string]>([
    ['lists within lists', `"result":${'['.repeat(7000)}${']'.repeat(7000)}`],
    ['half a character as its proof', `"result":${JSON.stringify(offer).replaceAll('A'.repeat(43), half)}`],
    ['a pause without end', `"error":{"data":{"reason":"locked","retryAfter":1${'0'.repeat(400)}}}`],
  ])('ends the program with no error but Keyturn’s own when it sends %s', async (_what, answer) => {
    const paths = temporaryHome();
    enrolled(paths);
    await squat(paths, () => `{"jsonrpc":"2.0","id":1,${answer}}`);
    const { code, stderr } = await ask(paths);
    expect({ code, stderr }).toMatchObject({
      code: expect.toBeOneOf([7, 8]),
      stderr: expect.not.stringContaining('Traceback'),
    });
    expect(stderr).toMatch(/reason: (handshake_failed|locked|frame_invalid)\n$/);
  });
});

test('uses the broker of this home, and no other with the same keys', async () => {
  const mark: string[] = [];
  const rig = await startRig({ capabilities: mark });
  prepareFolder(rig.paths.state);
  const { appId, key, brokerId } = rig.enrol();
  const code = `
import keyturn, sys
try:
    keyturn.connect(keyturn.Identity(*sys.argv[1:])).close()
    print("connected")
except keyturn.KeyturnError as error:
    print(error.reason)
`;
  const said = async () =>
    (await pythonProgram(code, [appId, key, brokerId], homeOf(rig.paths))).stdout.trim();
  mark.push(...homeCapability(rig.paths));
  expect(await said()).toBe('connected');
  mark.splice(0, 1, 'home-0123456789abcdef');
  expect(await said()).toBe('broker_unreachable');
});

test('closes the connection under a thread that asks, which hears so', async () => {
  let asked = 0;
  const rig = await startRig({
    dispatch: async () => {
      asked += 1;
      if (asked === 1) return new Promise(() => undefined);
      throw new KeyturnError('consent_required', 'The user approved nothing.');
    },
  });
  const { appId, key, brokerId } = rig.enrol();
  const code = `
import keyturn, sys, threading
broker = keyturn.connect(keyturn.Identity(*sys.argv[1:]))
def ask():
    try:
        broker.get_token("https://notes.example/mcp")
    except keyturn.KeyturnError as error:
        print(error.reason, error, sep=": ", flush=True)
thread = threading.Thread(target=ask, daemon=True)
thread.start()
print("asking", flush=True)
sys.stdin.readline()
closing = threading.Thread(target=broker.close, daemon=True)
closing.start()
closing.join(10)
thread.join(10)
print(closing.is_alive(), thread.is_alive(), flush=True)
if not closing.is_alive(): ask()
`;
  const { stdout, stderr } = await pythonProgram(code, [appId, key, brokerId], homeOf(rig.paths), async () =>
    expect.poll(() => asked).toBe(1),
  );
  expect({ stdout, stderr }).toEqual({
    stdout: [
      'asking',
      'broker_unreachable: the connection was closed by this program',
      'False False',
      'consent_required: The user approved nothing.',
      '',
    ].join('\n'),
    stderr: '',
  });
});
