/**
 * `npm run bench`: builds, measures what is ours beside a floor and a peer, and prints one table.
 *
 *   --only NAME   one row, or those whose names begin with NAME and a hyphen
 *   --json        the rows as JSON
 *   --install     installs the contenders that this machine lacks, as root on Debian
 *   --smoke       few rounds and the build that is there: shows only that everything runs
 *
 * Asserts nothing, and exits 0 if goals are missed: the figures are the machine's. If a measurement breaks off, the
 * others go on, and the command exits 1; 2 for an option or a row that isn't there. Progress goes to standard error.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { inspect, parseArgs } from 'node:util';
import { isSmoke } from './form.ts';
import { canPin } from './pinned.ts';
import { briefLife, openRefreshHome, type RefreshHome } from './refresh-home.ts';
import { goalText, type Measurement, type Row, type Stage, verdictOf } from './row.ts';
import { anew } from './rows/anew.ts';
import { anewCrowd } from './rows/anew-crowd.ts';
import { auditStream } from './rows/audit-stream.ts';
import { bridge } from './rows/bridge.ts';
import { bridgeStart } from './rows/bridge-start.ts';
import { cold } from './rows/cold.ts';
import { crowd } from './rows/crowd.ts';
import { clientImport } from './rows/import.ts';
import { due } from './rows/due.ts';
import { durable } from './rows/durable.ts';
import { hang } from './rows/hang.ts';
import { keychain } from './rows/keychain.ts';
import { kept } from './rows/kept.ts';
import { memory } from './rows/memory.ts';
import { memoryOfGrants, memoryUsed } from './rows/memory-in-use.ts';
import { proof } from './rows/proof.ts';
import { renderer } from './rows/renderer.ts';
import { refresh } from './rows/refresh.ts';
import { refreshes } from './rows/refreshes.ts';
import { start } from './rows/start.ts';
import { twenty } from './rows/twenty.ts';
import { bridgePeer } from './workshop.ts';
import { type BenchWorld, openWorld } from './world.ts';

const measurements: readonly Measurement[] = [
  kept,
  anew,
  anewCrowd(16),
  anewCrowd(64),
  anewCrowd(256),
  crowd(64),
  crowd(256),
  refresh,
  hang,
  twenty,
  refreshes,
  due,
  keychain,
  auditStream,
  proof,
  start,
  cold,
  bridgeStart,
  bridge,
  clientImport,
  memory,
  memoryUsed,
  memoryOfGrants,
  durable,
  renderer,
];

const options = optionsOrExit();

function optionsOrExit() {
  try {
    return parseArgs({
      options: {
        only: { type: 'string' },
        json: { type: 'boolean' },
        install: { type: 'boolean' },
        smoke: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    const why = error instanceof Error ? error.message : 'the options are wrong';
    return refuse(`${why}. There are --only NAME, --json, --install and --smoke.`);
  }
}

function say(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}

function refuse(text: string): never {
  say(text);
  process.exit(2);
}

const rowsOf = ({ name, rows = [name] }: Measurement): readonly string[] => rows;

function isChosen(name: string): boolean {
  const { only } = options;
  return only === undefined || name === only || name.startsWith(`${only}-`);
}

function chosenOrExit(): readonly Measurement[] {
  const found = measurements.filter((measurement) => rowsOf(measurement).some(isChosen));
  if (found.length > 0) return found;
  const names = measurements.flatMap(rowsOf).join(', ');
  return refuse(`there is no row ${options.only}. There are ${names}.`);
}

async function measure(chosen: readonly Measurement[]): Promise<readonly Row[]> {
  let opened: Promise<BenchWorld> | undefined;
  let shared: Promise<RefreshHome> | undefined;
  const stage: Stage = {
    world: async () => (opened ??= openWorld()),
    async refreshHome(count, lifetime) {
      if (!isSmoke) return openRefreshHome(count, lifetime);
      // Closed below.
      return { ...(await (shared ??= openRefreshHome(count, briefLife))), close: async () => undefined };
    },
  };
  const rows: Row[] = [];
  try {
    for (const { name, measure: run } of chosen) {
      const from = performance.now();
      try {
        rows.push(...[await run(stage)].flat().filter((row) => isChosen(row.name)));
        say(`${name}: ${((performance.now() - from) / 1000).toFixed(0)} s`);
      } catch (error) {
        say(`${name} broke off: ${inspect(error)}`);
        process.exitCode = 1;
      }
    }
  } finally {
    // Why it could not be opened, its measurement has said.
    await (await shared?.catch(() => undefined))?.close();
    await (await opened)?.close();
  }
  return rows;
}

function figure(value: number | undefined, unit: string): string {
  if (value === undefined) return '–';
  if (Number.isNaN(value)) return 'missing';
  return unit === '/s' ? `${Math.round(value)} /s` : `${value.toFixed(1)} ${unit}`;
}

function table(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const { name, what, unit, ours, floor, peers = {}, ratios = {} } = row;
    const beside = Object.entries(peers).map(([peer, value]) => `${peer} ${figure(value, unit)}`);
    const known = Object.entries(ratios).filter(([, ratio]) => !Number.isNaN(ratio));
    const times = known.map(([contender, ratio]) => `× ${ratio.toFixed(2)} ${contender}`);
    const verdict = isSmoke || row.goals.length === 0 ? '–' : verdictOf(row);
    return [
      name,
      what,
      figure(ours, unit),
      figure(floor, unit),
      list(beside),
      list(times),
      goalText(row) || '–',
      verdict,
    ];
  });
  const head = ['row', 'what', 'ours', 'floor', 'peers', 'ratios', 'goal', 'result'];
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function list(texts: readonly string[]): string {
  return texts.length === 0 ? '–' : texts.join(', ');
}

/** What figures depend on. Load 1 on two processors means that half of the machine was busy before. */
function machine(): string {
  const load = (loadavg()[0] ?? 0).toFixed(1);
  const pin = canPin ? '' : ', not pinned to one processor (no taskset)';
  return `${cpus().length} processors, ${process.platform} ${process.arch}, Node ${process.versions.node}, load ${load}${pin}`;
}

/** Where they can't be had, the table shows them as missing. */
function installPeers(): void {
  say('installs oidc-agent-cli');
  const install = ['install', '-y', '-q', '--no-install-recommends', 'oidc-agent-cli'];
  const done = spawnSync('apt-get', install, { stdio: ['ignore', 2, 2] });
  if (done.status !== 0) say('oidc-agent-cli could not be installed');
  const { folder, spec } = bridgePeer;
  say(`installs ${spec}`);
  const quiet = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts', '--silent'];
  const installed = spawnSync('npm', ['install', '--prefix', folder, ...quiet, spec], {
    stdio: ['ignore', 2, 2],
  });
  if (installed.status !== 0) say(`${spec} could not be installed`);
}

const chosen = chosenOrExit();
const at = machine();
if (options.install) installPeers();
if (!isSmoke) {
  say('builds');
  const build = path.join(import.meta.dirname, '..', 'scripts', 'build.mjs');
  execFileSync(process.execPath, [build], { stdio: ['ignore', 2, 2] });
}
const rows = await measure(chosen);
if (options.json) {
  const found = rows.map((row) => ({ ...row, verdict: verdictOf(row) }));
  process.stdout.write(`${JSON.stringify({ machine: at, rows: found }, undefined, 2)}\n`);
} else {
  process.stdout.write(`${at}\n\n${table(rows)}\n`);
}
