/**
 * Grants that need no person: client credentials, enterprise-managed authorization (ID-JAG), and workload identity.
 *
 * Invariant: used only where the owner entered a client for that purpose at this very issuer; off
 * otherwise. No refresh token is kept: the credentials themselves are the way to the next token.
 */
import { readFile } from 'node:fs/promises';
import { KeyturnError } from '../../base/errors.ts';
import { requestClientCredentials } from '../../oauth/grants/client-credentials.ts';
import type { ProofKey } from '../../oauth/client/proof-key.ts';
import type { Http } from '../../oauth/base/http.ts';
import {
  discoverIdentityProvider,
  redeemIdentityAssertion,
  requestIdentityAssertion,
} from '../../oauth/grants/id-jag.ts';
import type { IdentityAssertionRequest } from '../../oauth/grants/id-jag.ts';
import type { Overrides } from '../../oauth/base/overrides.ts';
import type { TokenResponse } from '../../oauth/grants/token.ts';
import { redeemWorkloadAssertion } from '../../oauth/grants/workload.ts';
import type { Destination } from '../destination/destination.ts';
import type { Policy } from '../records/policy.ts';
import type { RegistrationRecord, Registrations } from '../records/registrations.ts';
import { serverTime } from '../../oauth/base/server-clock.ts';
import { companySignIn } from '../records/company.ts';
import { companyIdToken, CompanySignInNeeded } from './company-session.ts';
import type { CompanyParts } from './company-session.ts';
import type { WorkloadAssertions } from './workload-assertions.ts';

export interface UnattendedRequest {
  readonly destination: Destination;
  readonly record: RegistrationRecord;
  readonly scope: readonly string[] | undefined;
  readonly overrides: Overrides;
  readonly proofKey: ProofKey | undefined;
  /** The owner's own sign-in, not a program's request. */
  readonly isByPerson: boolean;
  readonly signal: AbortSignal;
}

/** The client for tokens without a person, if the owner entered one for this issuer. */
export function unattendedRecord(
  registrations: Registrations,
  issuer: string,
  now: number,
): RegistrationRecord | undefined {
  const record = registrations.for(issuer, now);
  return record?.grant === undefined ? undefined : record;
}

/** Where the credentials come from: the vault, and the sources of assertions. */
export interface UnattendedParts extends CompanyParts {
  readonly registrations: Registrations;
  readonly assertions: WorkloadAssertions;
  readonly policy: Policy;
}

/**
 * Throws what the requests throw; `file_unreadable` where the ID token's file can't be read, `assertion_invalid` for a
 * workload's assertion.
 */
export async function requestUnattended(
  parts: UnattendedParts,
  { destination, record, scope, overrides, proofKey, isByPerson, signal }: UnattendedRequest,
  http: Http,
): Promise<TokenResponse> {
  const { registrations, assertions } = parts;
  const { server, resource } = destination;
  const clientSecret = await registrations.secret(record);
  const request = {
    server,
    registration: record.registration,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    resource,
    overrides,
    ...(scope === undefined ? {} : { scope }),
    ...(proofKey ? { proofKey } : {}),
  };
  if (record.assertion !== undefined) {
    const use = { source: record.assertion, issuer: server.issuer, isByPerson };
    return assertions.use(use, (assertion) => redeemWorkloadAssertion({ ...request, assertion }, http));
  }
  if (!record.idp) return requestClientCredentials(request, http);
  const assertion = await requestIdentityAssertion(
    {
      ...(await companyCredentials(parts, record.idp, { http, signal })),
      server,
      clientId: record.registration.clientId,
      resource,
      ...(scope === undefined ? {} : { scope }),
    },
    http,
  );
  return redeemIdentityAssertion({ ...request, assertion }, http);
}

type Credentials = Pick<IdentityAssertionRequest, 'identityProvider' | 'idToken'>;

/** The ID token, and the client at the provider that it was issued to. */
async function companyCredentials(
  parts: UnattendedParts,
  { issuer, clientId, idTokenFile }: NonNullable<RegistrationRecord['idp']>,
  { http, signal }: { readonly http: Http; readonly signal: AbortSignal },
): Promise<Credentials> {
  parts.policy.refuseIssuer(issuer);
  const server = await discoverIdentityProvider(issuer, http);
  if (idTokenFile !== undefined && clientId !== undefined) {
    // The company's provider knows us as a public client, by the id the owner entered.
    const registration = { issuer, clientId, tokenEndpointAuthMethod: 'none' } as const;
    return { identityProvider: { server, registration }, idToken: await readIdToken(idTokenFile) };
  }
  const idToken = await companyIdToken(parts, issuer, {
    now: serverTime(http, server),
    signal,
  });
  const record = parts.registrations.byId(companySignIn(parts.grants, issuer)?.registrationId ?? '');
  if (!record) throw new CompanySignInNeeded(issuer);
  const clientSecret = await parts.registrations.secret(record);
  const client = { server, registration: record.registration };
  return { identityProvider: clientSecret === undefined ? client : { ...client, clientSecret }, idToken };
}

/** Read at each use: the program that signs in at the company's provider keeps the file fresh. */
async function readIdToken(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const token = text.trim();
  if (/^[\w-]+\.[\w-]+\.[\w-]*$/.test(token)) return token;
  throw new KeyturnError('file_unreadable', `${file} holds no ID token.`, {
    hint: 'The file that --id-token-file named must be readable and hold one ID token of the identity provider.',
  });
}
