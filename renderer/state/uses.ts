/**
 * Which app used which server in the last day.
 *
 * Invariant: counted by the broker from the activity log, which knows apps by their names: two apps of one name
 * share what is shown of them.
 */
import type { Use } from '../base/views.ts';
import { useList } from './store.ts';

/** Of one app, one server, or one app at one server. */
export interface UseFilter {
  /** An app's name. */
  readonly app?: string;
  readonly endpoint?: string;
}

export interface UseSum {
  /** Tokens and API keys that were handed out in each hour, the oldest first. */
  readonly hours: readonly number[];
  readonly total: number;
  /** When the last one was: seconds since 1970. */
  readonly last?: number;
}

const none: readonly Use[] = [];

export function useUses(): readonly Use[] {
  return useList('audit.activity').value?.uses ?? none;
}

/** All uses that fit, as one. */
export function sumOf(uses: readonly Use[], { app, endpoint }: UseFilter): UseSum {
  const fitting = uses.filter(
    (use) => (app === undefined || use.app === app) && (endpoint === undefined || use.endpoint === endpoint),
  );
  const length = Math.max(0, ...fitting.map(({ handedOut }) => handedOut.length));
  const hours = Array.from({ length }, (_, at) => total(fitting.map(({ handedOut }) => handedOut[at] ?? 0)));
  const last = Math.max(0, ...fitting.map((use) => use.last));
  return { hours, total: total(hours), ...(last === 0 ? {} : { last: Math.floor(last / 1000) }) };
}

const total = (numbers: readonly number[]): number => numbers.reduce((sum, value) => sum + value, 0);
