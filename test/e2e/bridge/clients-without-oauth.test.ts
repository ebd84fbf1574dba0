/** The clients of clients.test.ts against a server that wants no token, and against one that wants an API key. */
import { expect, it, onTestFinished } from 'vitest';
import { newHome } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { startBroker } from '../../support/homes/owner-acts.ts';
import { clientOf } from '../../support/processes/bridge-client.ts';
import { ForeignClients } from '../../support/processes/foreign-client.ts';
import { paired } from '../../support/processes/program.ts';
import { keepSecret } from '../../support/secrets.ts';
import { json, plain, serve } from '../../field/bridge/server.ts';

const programs = ['sdk-1', 'sdk-2', 'ai-sdk', 'langchain'] as const;
const commands = ['inspector', 'mcporter'] as const;

it.each(['no token', 'an API key'])(
  'unlike clients call a tool of a server that wants %s',
  async (wanted) => {
    const key = 'aKeyForClients-0915965594';
    keepSecret('API key', key);
    const server = await serve((request, response, message) => {
      if (wanted === 'an API key' && request.headers['x-api-key'] !== key)
        return void response.writeHead(401).end();
      if (request.url?.startsWith('/mcp')) plain(request, response, message);
      else json(response, 404, {});
    });
    const url = server.url.href;
    const home = newHome({ vault: 'memory', env: { KEYTURN_ALLOW_INSECURE_LOOPBACK: '1' } });
    const clients = new ForeignClients(home, url);
    onTestFinished(async () => clients.close());
    await startBroker(home);
    const isKeyed = wanted === 'an API key';
    const sent = { resource: url, header: 'X-Api-Key', value: key };
    if (isKeyed) await askBroker(home, 'apiKey.set', sent);
    for (const name of [...programs, ...commands]) {
      await paired(home, name);
      const permission = { app: name, resource: url, decision: 'allow' } as const;
      await askBroker(home, isKeyed ? 'apiKey.permission.set' : 'permission.set', permission);
    }
    for (const name of programs) {
      const client = await clients.start(name);
      expect(await client.ask('tools')).toEqual(['echo']);
      expect(await client.ask('call', 'echo', {})).toBe('done');
      await client.close();
    }
    const { client, output } = await clientOf(home, url, '--as', 'sdk-1');
    await client.close();
    expect(output.stderr).toBe('');
    const list = ['--config', 'CONFIGURATION', '--server', 'workshop', '--method', 'tools/list'];
    expect(await clients.run('inspector', '--cli', ...list)).toContain('echo');
    expect(await clients.run('mcporter', '--config', 'CONFIGURATION', 'call', 'workshop.echo')).toContain(
      'done',
    );
  },
);
