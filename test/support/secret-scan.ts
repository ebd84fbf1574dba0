/**
 * The search for secrets at the end of every home's life: its files, and all that its commands printed.
 *
 * Invariant: nothing is left out but what is named here: the key files that invariant 1 (dev/internals.md)
 * names, files that the user named on the command line, access tokens where `keyturn token` prints them, and
 * tokens and API keys where `keyturn headers` does. A finding ends the test; the secret itself is never repeated.
 */
import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { report } from '../soak/report.ts';
import type { Printed } from './home.ts';
import { type Finding, keepSecret, secretsIn, secretsKnown, told } from './secrets.ts';

/** The private part of a JWK (RFC 7518 §6.2.2), whichever key it is: no test knows the keys that the broker makes. */
function privateKeysIn(place: string, content: Buffer | string): Finding[] {
  const found = /\\?"d\\?"\s*:\s*\\?"[\w-]{43}\\?"/.test(
    typeof content === 'string' ? content : content.toString('latin1'),
  );
  return found ? [{ place, kind: 'private key', form: 'JWK' }] : [];
}

const keyFile = z.object({ key: z.string() });

/** Makes the keys in a config folder known: the owner's and those of paired programs. */
export function learnKeys(config: string): void {
  for (const file of filesBelow(config).filter(isKeyFile)) {
    const kind = path.basename(file) === 'owner.key' ? 'owner key' : 'client key';
    const { success, data } = keyFile.safeParse(parsed(file));
    if (success) keepSecret(kind, data.key);
  }
}

/** Throws, with every place and kind, where a known secret is found. Appends its numbers to the soak's report. */
export function scan({ folder, printed }: { readonly folder: string; readonly printed: readonly Printed[] }) {
  const theirs = new Set(printed.flatMap(({ args }) => namedFiles(args)));
  const files = filesBelow(folder).filter(
    (file) => lstatSync(file).isFile() && !isKeyFile(file) && !theirs.has(file),
  );
  let bytes = 0;
  const read = (place: string, content: Buffer | string): Finding[] => {
    bytes += Buffer.byteLength(content);
    return [...secretsIn(place, content), ...privateKeysIn(place, content)];
  };
  const findings = [
    ...files.flatMap((file) => read(path.relative(folder, file), readFileSync(file))),
    ...printed.flatMap(({ args, stdout, stderr }) => [
      ...read(`stdout of ${nameOf(args)}`, stdout).filter(({ kind }) => !isPrintedByDesign(args, kind)),
      ...read(`stderr of ${nameOf(args)}`, stderr),
      ...read(`arguments of ${nameOf(args)}`, args.join('\0')),
    ]),
  ];
  const numbers = { secrets: secretsKnown(), bytes, found: findings.length };
  report('secret-scan', numbers);
  if (findings.length > 0) throw new Error(`secrets where none may be:\n${told(findings)}`);
  return numbers;
}

/** These are there to print one, to whatever the user connects their output to. */
function isPrintedByDesign([command]: readonly string[], kind: Finding['kind']): boolean {
  const isToken = kind === 'access token';
  return command === 'token' ? isToken : command === 'headers' && (isToken || kind === 'API key');
}

/** Options by which a user names a file of their own that holds a secret (docs/reference/cli.md). */
const secretFiles = ['--private-key', '--id-token-file', '--client-secret-file'];

function namedFiles(args: readonly string[]): string[] {
  return args.flatMap((arg, at) => {
    const [name = '', value = args[at + 1] ?? ''] = arg.split('=', 2);
    return secretFiles.includes(name) ? [value] : [];
  });
}

const nameOf = (args: readonly string[]): string => `keyturn ${args[0] ?? ''}`.trim();

function isKeyFile(file: string): boolean {
  const folder = path.dirname(file);
  const isOwners = path.basename(file) === 'owner.key' && path.basename(folder) === 'config';
  const isClients = file.endsWith('.key') && folder.endsWith(path.join('config', 'apps'));
  return isOwners || isClients;
}

/** Files and links below a folder; none if there is no such folder. Unlike readdir's own recursion, it follows no link. */
export function filesBelow(folder: string): string[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const place = path.join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(place) : [place];
  });
}

function parsed(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // A test may have damaged it on purpose.
    return undefined;
  }
}
