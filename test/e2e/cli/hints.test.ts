/** What commands say where a person who is new to them would stumble. */
import { expect, it } from 'vitest';
import { builtBin } from '../../support/built.ts';
import { homeInWorld, newHome, until } from '../../support/home.ts';
import { signIn } from '../../support/homes/owner-acts.ts';
import { questionOf } from '../../support/homes/ask-broker.ts';
import { inTerminal } from '../../support/processes/terminal.ts';

const url = 'https://tickets.example/mcp';

it('hints say of an API key what a newcomer misses: where it goes, what allows it, and when it was last used', async () => {
  const home = newHome();
  const typed = await home.keyturn(['api-key', 'set', url, 'ak_typed-by-mistake']);
  expect(typed).toMatchObject({ code: 2, stdout: '' });
  expect(typed.stderr).toMatch(/^keyturn: A key never goes on the command line/);
  expect(typed.stderr).toContain('--api-key-stdin');
  expect(typed.stderr).not.toContain('ak_typed');
  await home.ok(['api-key', 'set', url, '--unchecked', '--api-key-stdin'], { stdin: 'ak_of-this-server' });
  const allowed = await home.keyturn(['app', 'allow', 'cli', url]);
  expect(allowed).toMatchObject({ code: 0, stdout: '' });
  expect(allowed.stderr).toContain(`To allow the API key there: keyturn app allow cli ${url} --api-key`);
  expect(await home.keyturn(['app', 'allow', 'cli', url, '--api-key'])).toMatchObject({ stderr: '' });
  await home.ok(['headers', url]);
  // The permission for tokens there was never used.
  expect(await home.ok(['app', 'list'])).toMatch(
    /mcp +allowed +- +any +- +-\n.* API key, Authorization: Bearer … +- +\d{4}-/,
  );
  await home.ok(['broker', 'stop']);
  expect(await home.json('app', 'list')).toMatchObject({
    apps: [{ name: 'cli', lastUsedAt: expect.any(Number) as number }],
  });
});

it('hints tell a scope or a server that may be mistyped', async () => {
  const { home, resource } = await homeInWorld();
  await home.ok(['sign-in', 'list']);
  await signIn(home, resource, { scope: 'notes:read' });
  const { stderr } = await home.keyturn(['app', 'allow', 'cli', resource, '--scope', 'notes:reed']);
  expect(stderr).toContain('has notes:read, and not "notes:reed"');
  expect(await home.keyturn(['app', 'allow', 'cli', resource, '--scope', 'notes:read'])).toMatchObject({
    stderr: '',
  });
  const mistyped = `${resource}p`;
  const { stderr: near } = await home.keyturn(['app', 'allow', 'cli', mistyped]);
  expect(near).toContain(`you are signed in at "${resource}", and not at "${mistyped}"`);
  expect(near).toContain(`keyturn app revoke cli ${mistyped}`);
});

it('hints name the proxy that leads to the same server already', async () => {
  const home = newHome();
  expect(await home.keyturn(['proxy', 'add', url])).toMatchObject({ code: 0 });
  const second = await home.keyturn(['proxy', 'add', url]);
  expect(second).toMatchObject({ code: 0 });
  expect(second.stderr).toContain(
    '"tickets.example-2" is a further proxy for this server, beside "tickets.example". If one is enough: keyturn proxy remove tickets.example-2',
  );
});

it('hints lead from a pairing to the question that follows it, by the beginning of an id', async () => {
  const home = newHome();
  await home.ok(['sign-in', 'list']);
  /** The question that the answer leads to; undefined where it didn't come within the two seconds that the command looks. */
  const ledTo = async (name: string): Promise<string | undefined> => {
    home.start(['headers', url, '--as', name, '--timeout', '2m']);
    const { id } = await questionOf(home, 'pair', name);
    const terminal = inTerminal(home, [process.execPath, builtBin, 'request', 'approve', id.slice(0, 5)]);
    const [, next] = await terminal.shows(
      /"helper-\d+" is paired, and (?:now asks for access to "https:[^"]*"\. Answer: keyturn request approve (\w+)|may reach)/,
    );
    await terminal.ended;
    if (next !== undefined) expect((await questionOf(home, 'allow', name)).id).toBe(next);
    return next;
  };
  let tries = 0;
  const next = await until('a question follows', () => ledTo(`helper-${(tries += 1)}`));
  await home.ok(['request', 'deny', next.slice(0, 4), '--remember']);
});
