/**
 * The variables of a client's entry: what it gives them, where its headers name them, and which of them decide how its
 * program connects.
 */
import { changesConnections } from '../base/system/program-variables.ts';
import type { ConfigFile } from './clients.ts';

export const envNames: readonly string[] = ['env', 'environment'];

/** Undefined where they are no maps of texts. */
export function variables(entry: Readonly<Record<string, unknown>>): Record<string, string> | undefined {
  const pairs = envNames.map((name) => pairsOf(entry[name] ?? {}));
  return pairs.includes(undefined) ? undefined : Object.fromEntries(pairs.flatMap((all) => all ?? []));
}

export function pairsOf(value: unknown): [string, string][] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const pairs = Object.entries(value);
  const texts = pairs.flatMap(([name, text]): [string, string][] =>
    typeof text === 'string' ? [[name, text]] : [],
  );
  return texts.length === pairs.length ? texts : undefined;
}

const variable = /\$\{([^}]*)\}/g;

export const variablesOf = (text: string): readonly string[] =>
  [...text.matchAll(variable)].map(([, name = '']) => name);

/** Without each `${NAME}`, the one form that setup knows and shows. */
export const withoutVariables = (text: string): string => text.replaceAll(variable, '');

export const resolved = (text: string, env: Readonly<Record<string, string>>): string =>
  text.replaceAll(variable, (whole, name: string) =>
    Object.hasOwn(env, name) ? (env[name] ?? whole) : whole,
  );

/** Those that setup keeps for the bridge: in the user's own files alone. */
export const isKept = (name: string, level: ConfigFile['level']): boolean =>
  level === 'user' && changesConnections(name);

/** The bridge can't take the place of mcp-remote without knowing what they are for. */
export const isDecisive = (name: string): boolean =>
  changesConnections(name) || /^(?:PATH|NODE_.*)$/i.test(name);
