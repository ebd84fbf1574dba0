/** A program delegates access to a child run: two processes, the built broker, and what the owner sees of it. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { homeInWorld } from '../../support/home.ts';
import { library, pairedProgram } from '../../support/processes/program.ts';
import { pythonProgram } from '../../support/processes/python.ts';

const { connect, delegate, endDelegation } = await library();

const built = new URL('../../../dist/client/index.js', import.meta.url).href;

/** A child run: gets its identity by its standard input, and says what it may and what it may not. */
const child = `
import { connect } from ${JSON.stringify(built)};
const { identity, resource } = JSON.parse(await new Response(process.stdin).text());
const connection = await connect({ key: identity });
const { scope } = await connection.getToken({ resource });
const more = await connection.getToken({ resource, scope: 'notes:write', interaction: 'allow' }).catch((error) => error.reason);
console.log(JSON.stringify({ scope, more }));
connection.close();
`;

async function runChild(handed: object, env: NodeJS.ProcessEnv): Promise<unknown> {
  const running = spawn(process.execPath, ['--input-type=module', '-e', child], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  running.stdin.end(JSON.stringify(handed));
  return JSON.parse(await text(running.stdout));
}

const python = `
import sys, keyturn
with keyturn.connect("an-agent") as broker:
    identity = broker.delegate(sys.argv[1], "from-python", 60, scope="notes:read")
    with keyturn.connect(identity) as child:
        print(child.get_token(sys.argv[1]).scope, identity.key in repr(identity))
`;

it('a program delegates one scope to a child process, which the owner sees below the program and can end; a new broker knows nothing of it', async () => {
  const { home, world, resource } = await homeInWorld();
  await home.ok(['list']);
  const agent = await pairedProgram(home, 'an-agent');
  await home.ok(['allow', 'an-agent', resource, '--scope', 'notes:read notes:write']);
  await agent.getToken({ resource, scope: 'notes:read notes:write', interaction: 'allow' });

  const asked = { resource, scope: 'notes:read', lifetime: 600, name: 'summarizer' };
  const delegation = await delegate(agent, asked);
  const handed = { identity: delegation.identity, resource };
  expect(await runChild(handed, home.env)).toEqual({ scope: 'notes:read', more: 'consent_required' });
  expect(world.counts().authorizationServer).toMatchObject({ signIns: 1 });
  expect(await pythonProgram(python, [resource], home.env)).toEqual({
    code: 0,
    stdout: 'notes:read False\n',
    stderr: '',
  });

  const list = await home.ok(['clients']);
  expect(list).toMatch(/^an-agent .*\n└ summarizer .* notes:read .*\n└ from-python /m);
  const { clients } = await home.json<{ clients: { clientId: string; name: string }[] }>('clients');
  const [, , summarizer] = clients;
  expect(summarizer).toMatchObject({ name: 'an-agent › summarizer', clientId: delegation.identity.clientId });
  expect(await home.ok(['audit', 'tail'])).toMatch(/an-agent › summarizer/);

  await home.ok(['unpair', delegation.identity.clientId]);
  await expect(connect({ key: delegation.identity, env: home.env })).rejects.toMatchObject({
    reason: 'unpaired',
  });
  await expect(endDelegation(agent, delegation)).rejects.toMatchObject({ reason: 'not_found' });

  const second = await delegate(agent, asked);
  const kept = await connect({ key: second.identity, env: home.env });
  await kept.getToken({ resource });
  await endDelegation(agent, second);
  await expect(kept.getToken({ resource })).rejects.toMatchObject({ reason: 'unpaired' });
  kept.close();

  const third = await delegate(agent, asked);
  await home.ok(['daemon', '--restart']);
  await expect(connect({ key: third.identity, env: home.env })).rejects.toMatchObject({ reason: 'unpaired' });
});
