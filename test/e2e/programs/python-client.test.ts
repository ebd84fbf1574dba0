/** The Python client as a program uses it: python3, the built broker, and a real MCP server. */
import { statSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { homeInWorld, type TestHome } from '../../support/home.ts';
import { questionOf } from '../../support/homes/ask-broker.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { keyturnPy, pythonProgram } from '../../support/processes/python.ts';
import { verdictOn } from '../../support/servers/notebook.ts';

async function pairedPy(home: TestHome, answer: 'yes' | 'no' = 'yes') {
  await owner.startBroker(home);
  const pairing = keyturnPy(['pair', 'notes-py'], home.env);
  pairing.catch(() => undefined);
  const card = await questionOf(home, 'pair');
  expect(card.app).toBe('notes-py');
  await owner.answer(home, card.id, answer);
  return { card, run: await pairing };
}

it('the Python client pairs by the code on its card, and prints a token', async () => {
  const { home, world, resource } = await homeInWorld();
  const { card, run } = await pairedPy(home);
  expect(run).toEqual({ code: 0, stdout: `Compare this code: ${card.code}\nPaired.\n`, stderr: '' });
  expect(statSync(path.join(home.paths.config, 'apps', 'notes-py.key')).mode & 0o777).toBe(0o600);
  expect((await keyturnPy(['pair', 'notes-py'], home.env)).stderr).toContain('reason: conflict');

  const refused = await keyturnPy(['token', 'notes-py', resource], home.env);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(/hint: .*keyturn app allow notes-py .*\nreason: consent_required\n$/);
  await owner.allow(home, 'notes-py', resource);
  const asked = await keyturnPy(['token', 'notes-py', resource, '--ask'], home.env);
  expect(asked).toMatchObject({ code: 0, stderr: '' });
  expect((await verdictOn(world, asked.stdout.trim())).status).toBe(200);
});

/** A whole program: calls tools, reports a rejected token, answers a step-up, and names its error by class. */
const program = `
import json, ssl, sys, urllib.error, urllib.request
import keyturn

resource, authority = sys.argv[1:]
context = ssl.create_default_context(cafile=authority)

def call(token, tool, arguments):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"Authorization": token.header, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(resource, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, context=context) as response:
            return response.status, None
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("WWW-Authenticate")

with keyturn.connect("notes-py") as broker:
    token = broker.get_token(resource, interaction="allow")
    print(call(token, "list-notes", {})[0], flush=True)
    sys.stdin.readline()
    status, challenge = call(token, "list-notes", {})
    told = broker.reject(token, status, challenge, operation="list-notes", worked=True)
    token = told.token or broker.get_token(resource, challenge=(status, challenge))
    print(status, told.rejected, call(token, "list-notes", {})[0])
    status, challenge = call(token, "add-note", {"note": "milk"})
    token = broker.get_token(resource, challenge=(status, challenge), interaction="allow", operation="add-note")
    print(status, call(token, "add-note", {"note": "milk"})[0], "notes:write" in token.scope.split())
    try:
        broker.get_token("https://elsewhere.example/mcp")
    except keyturn.PersonNeeded as error:
        print(error.reason, token.access_token in repr(token) + repr(broker) + repr(error))
`;

it('the Python client replaces a rejected token, and answers a step-up', async () => {
  const { home, world, resource } = await homeInWorld();
  await pairedPy(home);
  await owner.allow(home, 'notes-py', resource);
  const run = await pythonProgram(program, [resource, world.caFile], home.env, async () =>
    world.expireAccessTokens(),
  );
  expect(run).toEqual({
    code: 0,
    stdout: '200\n401 True 200\n403 200 True\nconsent_required False\n',
    stderr: '',
  });
  expect(world.counts().authorizationServer).toMatchObject({
    registrations: 1,
    refreshes: 1,
    codesRedeemed: 2,
  });
});

it('the Python client goes on with the broker that takes over', async () => {
  const { home, resource } = await homeInWorld({ vault: 'keychain' });
  await pairedPy(home);
  await owner.signIn(home, resource);
  await owner.allow(home, 'notes-py', resource);
  const [before] = home.brokers();
  const code = `
import sys, keyturn
broker = keyturn.connect("notes-py")
print(broker.get_token(sys.argv[1]).account, flush=True)
sys.stdin.readline()
print(broker.get_token(sys.argv[1]).account)
`;
  const run = await pythonProgram(code, [resource], home.env, async () => home.ok(['broker', 'restart']));
  const [first, second] = run.stdout.trim().split('\n');
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(second).toBe(first);
  expect(home.brokers()).not.toEqual([before]);
});
