/** `keyturn register --list` and `--remove`: the clients of ours at issuers, and the end of one. */
import { KeyturnError, quoted } from '../../base/errors.ts';
import { ask } from './request.ts';
import { printJson, printTable, when } from '../terminal/output.ts';

type Registered = Awaited<ReturnType<typeof ask<'registration.list'>>>['registrations'][number];

const sources = {
  preregistered: 'entered',
  metadata_document: 'metadata document',
  dynamic: 'by itself',
} as const satisfies Record<Registered['source'], string>;

export async function listRegistered(isJson: boolean): Promise<void> {
  const { registrations } = await ask('registration.list', {});
  if (isJson) printJson(registrations);
  else {
    printTable(
      ['ISSUER', 'CLIENT ID', 'REGISTERED', 'HOW', 'STATE', 'AUTH METHOD', 'GRANT', 'REDIRECT URI'],
      registrations.map(row),
    );
  }
}

function row({
  issuer,
  clientId,
  registeredAt,
  source,
  state,
  authMethod,
  grant,
  redirectUri,
}: Registered): string[] {
  return [
    issuer,
    clientId,
    when(registeredAt),
    sources[source],
    state ?? 'in use',
    authMethod,
    grant ?? 'authorization_code',
    redirectUri ?? '-',
  ];
}

/** Without `clientId` the one that was entered, of which an issuer has one at most. Throws `not_found`. */
export async function removeRegistered(issuer: string, clientId: string | undefined): Promise<void> {
  await ask('registration.remove', { issuer, clientId: clientId ?? (await enteredAt(issuer)) });
}

async function enteredAt(issuer: string): Promise<string> {
  const { registrations } = await ask('registration.list', {});
  const entered = registrations.find((one) => one.issuer === issuer && one.source === 'preregistered');
  if (entered) return entered.clientId;
  throw new KeyturnError('not_found', `No client was entered for ${quoted(issuer)}.`, {
    hint: '`keyturn register --list` shows the clients there are; --client-id names one that was registered by itself.',
  });
}
