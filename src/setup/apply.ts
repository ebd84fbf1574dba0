/**
 * Changes the files: keys into the vault, a sealed backup, then one file after the other.
 *
 * Invariants: a secret leaves a file only after the vault has it, or after its server offered a sign-in. Nothing is
 * written before the backup of everything is.
 */
import { KeyturnError } from '../base/errors.ts';
import { type AskOwner, type BackedUpFile, keepBackup, type SetupHome } from './backup.ts';
import { applied, placeAt } from './formats/edit.ts';
import { type FoundFile, replaceConfig } from './files.ts';
import { anotherEntrys, anotherStored } from './other-api-keys.ts';
import { formatOf, type Switch } from './plan.ts';
import { type SurveyedConfig, switchesIn } from './survey.ts';
import { hashOf } from './undo.ts';

/** What became of an entry. */
export interface AppliedChange {
  readonly file: string;
  readonly entry: string;
  readonly outcome: 'switched' | 'left';
  readonly as: string;
  readonly endpoint: string;
  readonly account?: string | undefined;
  readonly why?: string;
  /** `vault`: its key moved there; `sealed`: only the backup has it, since the server offers a sign-in. */
  readonly secret?: 'vault' | 'sealed';
  /** The header that the secret stood in. */
  readonly exposed?: string;
}

interface SkipReason {
  readonly why: string;
}

type ApiKeyStanding = { readonly secret: 'vault' | 'sealed' } | SkipReason;

/** Throws what the broker refuses of the backup, and `file_unreadable`. */
export async function applySetup(
  files: readonly SurveyedConfig[],
  { stateFolder, ask }: SetupHome,
): Promise<readonly AppliedChange[]> {
  const standings = await moveApiKeys(files.flatMap(switchesIn), ask);
  const changes = files.flatMap((file) => changeOf(file, standings) ?? []);
  const keys = [...standings].flatMap(([{ endpoint }, standing]) =>
    'secret' in standing && standing.secret === 'vault' ? [endpoint] : [],
  );
  const backup = { keys: [...new Set(keys)], files: changes.map(({ kept }) => kept) };
  if (changes.length > 0) await keepBackup(stateFolder, backup, await ask('backup.seal', {}));
  const results: AppliedChange[] = [];
  for (const file of files) {
    const change = changes.find(({ surveyed }) => surveyed === file);
    const unwritten = change ? await writeChange(change) : changed;
    for (const entry of switchesIn(file)) results.push(result(file, entry, standings.get(entry), unwritten));
  }
  return results;
}

const changed: SkipReason = { why: 'the file has changed in the meantime. Try again' };

/** Why the file stays as it is; undefined once it is written. One that can't be written keeps no other from its change. */
async function writeChange({ found, bytes }: FileChange): Promise<SkipReason | undefined> {
  try {
    return (await replaceConfig(found, bytes)) ? undefined : changed;
  } catch (error) {
    if (!(error instanceof KeyturnError)) throw error;
    return { why: error.message };
  }
}

function result(
  { config }: SurveyedConfig,
  { entry, as, endpoint, account, key }: Switch,
  standing: ApiKeyStanding | undefined,
  unwritten: SkipReason | undefined,
): AppliedChange {
  const common = { file: config.file, entry, as, endpoint, account, ...(key ? { exposed: key.header } : {}) };
  if (standing && 'why' in standing) return { ...common, outcome: 'left', ...standing };
  const moved = standing ? { secret: standing.secret } : {};
  return { ...common, ...moved, outcome: unwritten ? 'left' : 'switched', ...unwritten };
}

interface FileChange {
  readonly surveyed: SurveyedConfig;
  readonly found: FoundFile;
  readonly bytes: Buffer;
  readonly kept: BackedUpFile;
}

function changeOf(
  surveyed: SurveyedConfig,
  standings: ReadonlyMap<Switch, ApiKeyStanding>,
): FileChange | undefined {
  const { config, found, text, mark } = surveyed;
  const going = switchesIn(surveyed).filter((entry) => !('why' in (standings.get(entry) ?? {})));
  if (!found || going.length === 0) return undefined;
  const after = applied(
    text,
    going.flatMap(({ edits }) => edits),
  );
  const bytes = Buffer.from(mark + after);
  const format = formatOf(config);
  const textAt = (where: string, way: readonly string[]): string => {
    const place = placeAt(format, where, way);
    return place ? where.slice(place.from, place.to) : '';
  };
  const entries = going.map(({ keyPath }) => ({
    way: [...keyPath],
    before: textAt(text, keyPath),
    after: textAt(after, keyPath),
  }));
  const kept = {
    file: config.file,
    before: found.bytes.toString('base64'),
    after: hashOf(bytes),
    format: config.entryShape === 'toml' ? 'toml' : 'json',
    entries,
  } as const;
  return { surveyed, found, bytes, kept };
}

/** One after the other: each may ask the user. A server's key that is in the vault already is never replaced. */
async function moveApiKeys(
  entries: readonly Switch[],
  ask: AskOwner,
): Promise<ReadonlyMap<Switch, ApiKeyStanding>> {
  const standings = new Map<Switch, ApiKeyStanding>();
  const secrets = entries.filter(({ key }) => key);
  if (secrets.length === 0) return standings;
  const { apiKeys: keys } = await ask('apiKey.list', {});
  const first = new Map<string, Switch>();
  for (const entry of secrets) {
    const before = first.get(entry.endpoint);
    const standing = before && standings.get(before);
    if (before && standing) {
      const isSame = JSON.stringify(before.key) === JSON.stringify(entry.key);
      standings.set(entry, isSame ? standing : { why: anotherEntrys(entry) });
    } else if (keys.some(({ resource }) => resource === entry.endpoint)) {
      // An earlier run moved it, and could not change the file then, or `setup undo` put it back.
      const { endpoint: resource, key } = entry;
      const isStored = key !== undefined && (await ask('apiKey.compare', { resource, ...key })).same;
      if (isStored) first.set(entry.endpoint, entry);
      standings.set(entry, isStored ? { secret: 'vault' } : { why: anotherStored(entry) });
    } else {
      first.set(entry.endpoint, entry);
      standings.set(entry, await moveApiKey(entry, ask));
    }
  }
  return standings;
}

async function moveApiKey({ endpoint, key }: Switch, ask: AskOwner): Promise<ApiKeyStanding> {
  if (!key) return { secret: 'sealed' };
  try {
    await ask('apiKey.set', { resource: endpoint, ...key });
    return { secret: 'vault' };
  } catch (error) {
    if (!(error instanceof KeyturnError)) throw error;
    if (error.reason === 'oauth_offered') return { secret: 'sealed' };
    const { message, hint } = error;
    const sentence = message.endsWith('.') ? message : `${message}.`;
    const next = hint === undefined ? '' : ` ${/[.!?]$/.test(hint) ? hint : `${hint}.`}`;
    return { why: `Keyturn could not store its key: ${sentence}${next} Then try again.` };
  }
}
