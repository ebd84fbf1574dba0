/** What a process holds in memory, by the kernel's count. */
import { readFileSync } from 'node:fs';
import process from 'node:process';

/** In megabytes; NaN where the system has no /proc. */
export function residentOf(pid: number | undefined): number {
  if (process.platform !== 'linux' || pid === undefined) return Number.NaN;
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}
