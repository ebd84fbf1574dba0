// The numbers of a soak as one Markdown table, for dev/reliability.md: a row for each run that reported.
import { existsSync, readFileSync } from 'node:fs';

/** Runs of one name are added up: every home that was scanned for secrets reports for itself. */
export function soakTable(file, date) {
  const runs = new Map();
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  for (const { run, ...numbers } of lines.filter(Boolean).map((line) => JSON.parse(line))) {
    const sums = runs.get(run) ?? {};
    for (const [name, value] of Object.entries(numbers)) sums[name] = added(run, name, sums[name], value);
    runs.set(run, sums);
  }
  const rows = [...runs].map(([run, numbers]) => `| ${date} | ${run} | ${shown(numbers)} |`);
  return ['| date | run | numbers |', '| --- | --- | --- |', ...rows, ''].join('\n');
}

/** How many secrets a process knew is no sum: it only grows. */
function added(run, name, before, value) {
  if (before === undefined) return value;
  return run === 'secret-scan' && name === 'secrets' ? Math.max(before, value) : before + value;
}

function shown(numbers) {
  return Object.entries(numbers)
    .map(([name, value]) => `${name} ${typeof value === 'number' ? value.toLocaleString('en') : value}`)
    .join(', ');
}
