/** Pages that an MCP server wants opened, through `keyturn bridge`, where the person answers by command. */
import { expect, it } from 'vitest';
import { homeInWorld, type TestHome } from '../../support/home.ts';
import { questionOf } from '../../support/homes/ask-broker.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { clientOf, waitingLine } from '../../support/processes/bridge-client.ts';
import { paired } from '../../support/processes/program.ts';
import { payPage, workshop } from '../../support/servers/workshop.ts';

/** The one page that waits, as `keyturn request list` words it. */
async function pendingPage(home: TestHome): Promise<{ readonly id: string; readonly text: string }> {
  await questionOf(home, 'url');
  const text = await home.ok(['request', 'list']);
  const [, id = ''] = /^(\S+) {2}.*asks you to open a page/m.exec(text) ?? [];
  return { id, text };
}

it('a server’s page is answered by command, and noted without its query', async () => {
  const service = workshop();
  const { home, resource } = await homeInWorld({ issuing: { service } });
  await owner.startBroker(home);
  await paired(home, 'an-editor');
  await owner.allow(home, 'an-editor', resource);
  const { client, output } = await clientOf(home, resource, '--as', 'an-editor');

  const paid = client.callTool({ name: 'pay' });
  const { id, text } = await pendingPage(home);
  expect(text).toContain(`${resource}, which an-editor uses, asks you to open a page at xn--py-7kc.example.`);
  expect(text).toContain('  https://xn--py-7kc.example/checkout?order=7\n');
  expect(text).toContain(`the server says: ${JSON.stringify(payPage.message)}`);
  const answered = await home.keyturn(['request', 'approve', id]);
  expect(answered).toMatchObject({ code: 0, stdout: '' });
  expect(answered.stderr).toContain('https://xn--py-7kc.example/checkout?order=7');
  expect(await paid).toMatchObject({ content: [{ text: 'accept' }] });

  const refused = client.callTool({ name: 'unpaid' });
  refused.catch(() => undefined);
  await owner.answer(home, (await questionOf(home, 'url')).id, 'no');
  await expect(refused).rejects.toMatchObject({
    code: -32_042,
    message: expect.stringContaining('the person said no. The request did not run.'),
  });
  expect([service.ran('pay'), service.ran('unpaid')]).toEqual([1, 1]);

  const rows = await home.json<{ event: string; outcome?: string; url?: string }[]>('audit', 'log');
  const about = rows.filter(({ event }) => event === 'url');
  expect(about.map(({ outcome }) => outcome)).toEqual(['opened', 'declined']);
  expect(about[0]?.url).toBe('https://xn--py-7kc.example/checkout?…');
  expect(output.stderr).toBe(waitingLine('an-editor', resource));
});
