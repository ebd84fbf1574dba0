/**
 * The clients that `keyturn setup` knows: which files they read, and where in them their servers stand.
 *
 * Invariant: a table of what each client documents (looked up in November 2026). It reads no file; it looks which names
 * with a `*` are there.
 */
import { globSync } from 'node:fs';
import path from 'node:path';
import type { Environment } from '../base/paths.ts';

/** How an entry says what it starts. `array`: one list of command and arguments, and the type `local`. */
export type EntryShape = 'usual' | 'array' | 'toml';

/** Whose configuration a file is: the user's everywhere, or one project's. */
export type Level = 'user' | 'project';

/** Names of the members that lead to the servers; `*` stands for every member. */
type KeyPath = readonly string[];

export interface ConfigFile {
  /** Begins the app name of an entry, e.g. `claude-code`. */
  readonly client: string;
  /** As its maker writes it. */
  readonly title: string;
  readonly level: Level;
  /** Absolute. */
  readonly file: string;
  readonly keyPaths: readonly KeyPath[];
  readonly entryShape: EntryShape;
}

interface Folders {
  /** The user's home folder. */
  readonly home: string;
  /** Where programs keep settings: `~/.config`, or Apple's or Windows' own folder. */
  readonly settings: string;
  /** `XDG_CONFIG_HOME` or `~/.config`, on each system: command-line programs use it everywhere. */
  readonly config: string;
  readonly env: Environment;
}

interface Client {
  readonly title: string;
  readonly user: (folders: Folders) => readonly string[];
  /** Within a project's folder. */
  readonly project: readonly string[];
  readonly keyPaths: readonly KeyPath[];
  readonly entryShape?: EntryShape;
}

const usual: readonly KeyPath[] = [['mcpServers']];
/** With a `*` in its name: those that are there. */
const within = (folder: string, names: readonly string[]): readonly string[] =>
  names
    .flatMap((name) => (name.includes('*') ? globSync(name, { cwd: folder }).toSorted() : [name]))
    .map((name) => path.join(folder, name));
const inHome =
  (...names: string[]) =>
  ({ home }: Folders): readonly string[] =>
    within(home, names);
const inSettings =
  (...names: string[]) =>
  ({ settings }: Folders): readonly string[] =>
    within(settings, names);
const both =
  (first: Client['user'], second: Client['user']) =>
  (folders: Folders): readonly string[] => [...first(folders), ...second(folders)];

/** A file of the folder that the client's own variable names, then the usual one: another terminal may not set it. */
const movedBy =
  (variable: string, name: string, ...usualNames: string[]) =>
  (folders: Folders): readonly string[] => {
    const moved = folders.env[variable];
    const usualFiles = inHome(...usualNames)(folders);
    return moved && path.isAbsolute(moved) ? [path.join(moved, name), ...usualFiles] : usualFiles;
  };

const clients: Readonly<Record<string, Client>> = {
  'claude-code': {
    title: 'Claude Code',
    user: movedBy('CLAUDE_CONFIG_DIR', '.claude.json', '.claude.json'),
    project: ['.mcp.json'],
    // The second: what it keeps for one folder, for this user only.
    keyPaths: [['mcpServers'], ['projects', '*', 'mcpServers']],
  },
  'claude-desktop': {
    title: 'Claude Desktop',
    // The second: as a package of Windows.
    user: both(
      inSettings('Claude/claude_desktop_config.json'),
      inHome('AppData/Local/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json'),
    ),
    project: [],
    keyPaths: usual,
  },
  cursor: {
    title: 'Cursor',
    user: inHome('.cursor/mcp.json'),
    project: ['.cursor/mcp.json'],
    keyPaths: usual,
  },
  'vs-code': {
    title: 'VS Code',
    // Each profile has its own file. The last: over SSH, in WSL and in containers.
    user: both(
      inSettings('Code/User/mcp.json', 'Code - Insiders/User/mcp.json', 'Code*/User/profiles/*/mcp.json'),
      inHome('.vscode-server/data/User/mcp.json'),
    ),
    project: ['.vscode/mcp.json'],
    keyPaths: [['servers']],
  },
  codex: {
    title: 'Codex',
    user: movedBy('CODEX_HOME', 'config.toml', '.codex/config.toml'),
    project: ['.codex/config.toml'],
    keyPaths: [['mcp_servers']],
    entryShape: 'toml',
  },
  gemini: {
    title: 'Gemini CLI',
    user: movedBy('GEMINI_CLI_HOME', '.gemini/settings.json', '.gemini/settings.json'),
    project: ['.gemini/settings.json'],
    keyPaths: usual,
  },
  qwen: {
    title: 'Qwen Code',
    user: inHome('.qwen/settings.json'),
    project: ['.qwen/settings.json'],
    keyPaths: usual,
  },
  zed: {
    title: 'Zed',
    user: ({ config }) => [path.join(config, 'zed/settings.json')],
    project: ['.zed/settings.json'],
    keyPaths: [['context_servers']],
  },
  windsurf: {
    title: 'Windsurf',
    user: inHome('.codeium/windsurf/mcp_config.json'),
    project: [],
    keyPaths: usual,
  },
  cline: {
    title: 'Cline',
    user: both(
      inHome('.cline/data/settings/cline_mcp_settings.json'),
      inSettings('Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json'),
    ),
    project: [],
    keyPaths: usual,
  },
  roo: {
    title: 'Roo Code',
    user: inSettings('Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json'),
    project: ['.roo/mcp.json'],
    keyPaths: usual,
  },
  copilot: {
    title: 'GitHub Copilot CLI',
    user: movedBy('COPILOT_HOME', 'mcp-config.json', '.copilot/mcp-config.json'),
    project: [],
    keyPaths: usual,
  },
  kiro: {
    title: 'Kiro',
    user: inHome('.kiro/settings/mcp.json', '.kiro/agents/*.json'),
    project: ['.kiro/settings/mcp.json'],
    keyPaths: usual,
  },
  'lm-studio': { title: 'LM Studio', user: inHome('.lmstudio/mcp.json'), project: [], keyPaths: usual },
  opencode: {
    title: 'opencode',
    user: ({ config, env }) =>
      [env['OPENCODE_CONFIG_DIR'] ?? '', path.join(config, 'opencode')]
        .filter((folder) => path.isAbsolute(folder))
        .flatMap((folder) => ['opencode.json', 'opencode.jsonc'].map((name) => path.join(folder, name))),
    project: ['opencode.json', 'opencode.jsonc'],
    // Version 2, and version 1.
    keyPaths: [['mcp', 'servers'], ['mcp']],
    entryShape: 'array',
  },
};

/** Every file that a client would read here; it may be missing. `project`: the project's folder, if there is one. */
export function configFiles({
  home,
  project,
  env = process.env,
  platform = process.platform,
}: {
  readonly home: string;
  readonly project?: string | undefined;
  readonly env?: Environment;
  readonly platform?: NodeJS.Platform;
}): readonly ConfigFile[] {
  const xdg = env['XDG_CONFIG_HOME'];
  const config = xdg && path.isAbsolute(xdg) ? xdg : path.join(home, '.config');
  const settings =
    platform === 'darwin'
      ? path.join(home, 'Library', 'Application Support')
      : platform === 'win32'
        ? (env['APPDATA'] ?? path.join(home, 'AppData', 'Roaming'))
        : config;
  const found = Object.entries(clients).flatMap(
    ([client, { title, user, project: own, keyPaths, entryShape }]) => {
      const common = { client, title, keyPaths, entryShape: entryShape ?? 'usual' };
      return [
        ...user({ home, settings, config, env }).map((file) => ({ ...common, level: 'user' as const, file })),
        ...(project === undefined
          ? []
          : own.map((name) => ({ ...common, level: 'project' as const, file: path.join(project, name) }))),
      ];
    },
  );
  // In the home folder itself a client's file of the user and of the project can be the same one.
  return found.filter(({ file }, index) => found.findIndex((other) => other.file === file) === index);
}
