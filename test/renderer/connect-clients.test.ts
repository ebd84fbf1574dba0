/** The apps on this computer, connected from the window: real files, the real broker, and the page in Chromium. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { keepSecret } from '../support/secrets.ts';
import { type PageBroker, startPageBroker } from './page-broker.ts';
import { windowsOfTests } from './page-window.ts';

const openWindow = windowsOfTests();

const secret = 'sk-in-the-open-7f3a9c21d4';

/** A desk on whose machine `keyturn` is installed and Cursor has an entry with a key, and one without. */
async function deskWithCursor() {
  const broker = await startPageBroker();
  keepSecret('API key', secret);
  const at = (...names: string[]): string => path.join(broker.personHome, ...names);
  mkdirSync(at('bin'));
  writeFileSync(at('bin', 'keyturn'), '#!/bin/sh\n');
  chmodSync(at('bin', 'keyturn'), 0o755);
  mkdirSync(at('.cursor'));
  const file = at('.cursor', 'mcp.json');
  const before = `{
  // what I use
  "mcpServers": {
    "notes": { "url": "https://notes.example/mcp" },
    "mail": {
      "url": "${broker.resource}",
      "headers": { "X-Api-Key": "${secret}" }
    }
  }
}
`;
  writeFileSync(file, before);
  return { broker, file, before, text: () => readFileSync(file, 'utf8') };
}

async function openApps(broker: PageBroker) {
  const opened = await openWindow({ answer: broker.answer, hash: 'apps' });
  await opened.page.getByRole('button', { name: 'Connect apps' }).click();
  return opened;
}

it('the panel that connects apps shows changes, applies ticked ones, and undoes all', async () => {
  const { broker, file, before, text } = await deskWithCursor();
  const { page, complaints } = await openApps(broker);
  const panel = page.getByRole('region', { name: 'Connect the apps on this computer' });
  await panel.getByRole('heading', { name: 'Cursor' }).waitFor();
  expect(await panel.innerText()).toContain(file);
  expect(await panel.innerText()).toContain('The secret in X-Api-Key is in plain text');
  await panel.getByText('Show the change').first().click();
  expect(await panel.innerText()).toContain('"bridge", "https://notes.example/mcp", "--as", "cursor-notes"');
  await panel.getByRole('checkbox', { name: /mail/ }).uncheck();
  expect(text()).toBe(before);

  await panel.getByRole('button', { name: 'Connect Cursor' }).click();
  await panel.getByText('Restart these apps.').waitFor();
  expect(text()).toContain(path.join(broker.personHome, 'bin', 'keyturn'));
  expect(text()).toContain('"--as", "cursor-notes"');
  expect(text()).toContain(secret);
  expect(text()).toContain('// what I use');
  await panel.getByText('uses Keyturn already').waitFor();

  await panel.getByRole('button', { name: 'Undo all changes' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Undo all changes' }).click();
  await panel.getByText('as it was, byte for byte.').waitFor();
  expect(text()).toBe(before);
  await panel.getByRole('button', { name: 'Undo all changes' }).waitFor({ state: 'detached' });
  expect(broker.answered.join('\n')).not.toContain(secret);
  expect(complaints).toEqual([]);
});
