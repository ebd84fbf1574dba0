/**
 * `npm run bench`: builds, measures what you wait for beside what you would use instead, and prints one table.
 *
 *   --only NAME   one measurement
 *   --json        the rows as JSON
 *   --install     first installs oidc-agent (as root on Debian) and mcp-remote
 *   --smoke       few rounds, on the build that is there: shows only that everything runs
 *
 * Exits 0 if goals are missed: the figures are the machine's. If a measurement breaks off, the others go on, and the command
 * exits 1; 2 for an unknown option or measurement. Progress goes to standard error.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import process from 'node:process';
import { inspect, parseArgs } from 'node:util';
import { mcpRemote } from './bridges.ts';
import { fileHere } from './process.ts';
import { isSmoke, type Measurement, type Row, verdictOf } from './row.ts';
import { bridge8mb, bridgeCall, bridgeMemory, bridgeStart } from './rows/bridges.ts';
import { memory, start } from './rows/brokers.ts';
import { crowd, hang } from './rows/crowds.ts';
import { paint } from './rows/paint.ts';
import { server } from './rows/server.ts';
import { anew, cold, kept } from './rows/tokens.ts';
import { openWorld, type World } from './world.ts';

const measurements: readonly Measurement[] = [
  bridgeStart,
  bridgeMemory,
  bridgeCall,
  bridge8mb,
  cold,
  kept,
  anew,
  crowd,
  hang,
  memory,
  start,
  paint,
  server,
];

const say = (text: string): void => void process.stderr.write(`bench: ${text}\n`);

function refuse(text: string): never {
  say(text);
  process.exit(2);
}

const options = optionsOrExit();

function optionsOrExit() {
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({ options: { only: { type: 'string' }, json: flag, install: flag, smoke: flag } })
      .values;
  } catch {
    return refuse('The options are --only NAME, --json, --install and --smoke.');
  }
}

async function measure(chosen: readonly Measurement[]): Promise<readonly Row[]> {
  let opened: Promise<World> | undefined;
  const rows: Row[] = [];
  for (const { name, measure: run } of chosen) {
    const from = performance.now();
    try {
      rows.push(...(await run(async () => (opened ??= openWorld()))));
      say(`${name}: ${((performance.now() - from) / 1000).toFixed(0)} s`);
    } catch (error) {
      say(`${name} broke off: ${inspect(error)}`);
      process.exitCode = 1;
    }
  }
  await (await opened?.catch(() => undefined))?.close();
  return rows;
}

function table(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const { what, unit, ours, peers, ratios, goals } = row;
    const figure = (value: number): string =>
      Number.isNaN(value) ? 'missing' : `${value.toFixed(unit === '/s' || value >= 100 ? 0 : 1)} ${unit}`;
    const known = Object.entries(ratios).filter(([, ratio]) => !Number.isNaN(ratio));
    const bound = unit === '/s' ? '≥' : '≤';
    return [
      what,
      figure(ours),
      Object.entries(peers).map(([peer, value]) => `${peer} ${figure(value)}`),
      known.map(([peer, ratio]) => `${ratio.toFixed(2)} × ${peer}`),
      Object.entries(goals).map(([of, most]) =>
        of === 'itself' ? `${bound} ${most} ${unit}` : `${bound} ${most} × ${of}`,
      ),
      isSmoke ? '–' : verdictOf(row),
    ].map((cell) => (Array.isArray(cell) ? cell.join('; ') : cell) || '–');
  });
  const head = ['what', 'Keyturn', 'beside', 'ratio', 'goal', 'result'];
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Where they can't be had, the table shows them as missing. */
function install(): void {
  const apt = ['apt-get', 'install', '-y', '-q', '--no-install-recommends', 'oidc-agent-cli'];
  const quiet = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts', '--silent'];
  for (const [program = '', ...args] of [
    apt,
    ['npm', 'install', '--prefix', import.meta.dirname, ...quiet, mcpRemote],
  ]) {
    const { status } = spawnSync(program, args, { stdio: ['ignore', 2, 2] });
    if (status !== 0) say(`${args.at(-1)} could not be installed`);
  }
}

const chosen = measurements.filter(({ name }) => options.only === undefined || name === options.only);
if (chosen.length === 0) refuse(`There are ${measurements.map(({ name }) => name).join(', ')}.`);
const load = (loadavg()[0] ?? 0).toFixed(1);
if (options.install) install();
if (!isSmoke) execFileSync(process.execPath, [fileHere('../scripts/build.mjs')], { stdio: ['ignore', 2, 2] });
const rows = await measure(chosen);
const { platform, arch, versions } = process;
const machine = `${cpus().length} processors, ${platform} ${arch}, Node ${versions.node}, load ${load} at the start`;
const found = rows.map((row) => ({ ...row, verdict: verdictOf(row) }));
process.stdout.write(
  options.json
    ? `${JSON.stringify({ machine, rows: found }, undefined, 2)}\n`
    : `${machine}\n\n${table(rows)}\n`,
);
