/** Where setup looks for the clients' files. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { configFiles } from '../../src/setup/clients.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

it.each([
  ['CLAUDE_CONFIG_DIR', '.claude.json', '.claude.json'],
  ['CODEX_HOME', 'config.toml', '.codex/config.toml'],
  ['GEMINI_CLI_HOME', '.gemini/settings.json', '.gemini/settings.json'],
  ['COPILOT_HOME', 'mcp-config.json', '.copilot/mcp-config.json'],
  ['OPENCODE_CONFIG_DIR', 'opencode.json', '.config/opencode/opencode.json'],
])('the file that %s moves is looked at beside the usual one', (variable, moved, usual) => {
  const found = (env: Record<string, string>): string[] =>
    configFiles({ home: '/home/ada', env, platform: 'linux' }).map(({ file }) => file);
  expect(found({ [variable]: '/moved' })).toEqual(
    expect.arrayContaining([`/moved/${moved}`, `/home/ada/${usual}`]),
  );
  expect(found({ [variable]: 'relative' })).toEqual(found({}));
});

it('the files of profiles, agents and a package of Windows are looked at if they are there', () => {
  const folder = temporaryFolder();
  const names = [
    'AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json',
    '.config/Code/User/profiles/5552b383/mcp.json',
    '.config/Code - Insiders/User/profiles/-1a2b/mcp.json',
    '.kiro/agents/crew.json',
  ].map((name) => path.join(folder, name));
  const found = (): string[] =>
    configFiles({ home: folder, env: {}, platform: 'linux' }).map(({ file }) => file);
  for (const name of names) expect(found()).not.toContain(name);
  for (const name of names) {
    mkdirSync(path.dirname(name), { recursive: true });
    writeFileSync(name, '{}');
  }
  expect(found()).toEqual(expect.arrayContaining(names));
});
