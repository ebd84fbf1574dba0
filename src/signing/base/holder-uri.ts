/**
 * The setting that says where new keys are made: `software`, or a PKCS#11 URI (RFC 7512) with the module that reaches the
 * token, e.g. `pkcs11:token=Keyturn?module-path=/usr/lib/softhsm/libsofthsm2.so&pin-source=file:/home/anna/pin`.
 *
 * Invariant: a URI with a PIN in it (`pin-value`) is refused: a setting is in a file and in a command's arguments.
 */
import path from 'node:path';

import { tokenPlaceSchema } from './signing-key.ts';
import type { TokenPlace } from './signing-key.ts';

/** The token that new keys are made in. Undefined for `software`, and for what `isHolder` refuses. */
export function tokenPlace(setting: string): TokenPlace | undefined {
  const [, inPath = '', query = ''] = /^pkcs11:([^?]*)\?(.*)$/s.exec(setting) ?? [];
  const token = attributesOf(inPath, ';', ['token', 'serial']);
  const module = attributesOf(query, '&', ['module-path', 'pin-source']);
  if (!token || !module) return undefined;
  const pinFile = module['pin-source']?.replace(/^file:(\/\/(?=\/))?/, '');
  if (module['pin-source'] !== undefined && !module['pin-source'].startsWith('file:')) return undefined;
  if (![module['module-path'], pinFile].every((file) => file === undefined || isFile(file))) return undefined;
  const found = tokenPlaceSchema.safeParse({
    module: module['module-path'],
    token: token['token'],
    serial: token['serial'],
    pinFile,
  });
  return found.data;
}

export const isHolder = (setting: string): boolean =>
  setting === 'software' || tokenPlace(setting) !== undefined;

const isFile = (file: string): boolean => path.isAbsolute(file) && !file.includes('\0');

/** Undefined where one comes twice, or is none of `known`. */
function attributesOf(
  text: string,
  separator: string,
  known: readonly string[],
): Partial<Record<string, string>> | undefined {
  const found: Partial<Record<string, string>> = {};
  for (const part of text.split(separator)) {
    const [, name, value] = /^([a-z-]+)=(.+)$/s.exec(part) ?? [];
    if (name === undefined || value === undefined || !known.includes(name) || name in found) return undefined;
    try {
      found[name] = decodeURIComponent(value);
    } catch {
      return undefined;
    }
  }
  return found;
}
