/**
 * Sign-ins that need no user: client credentials, enterprise-managed authorization (ID-JAG), and workload identity.
 *
 * Invariant: used only where the user entered a client for that purpose at this very issuer; off
 * otherwise. No refresh token is kept: the credentials themselves are the way to the next token.
 */
import type { BrokerParts } from '../../parts.ts';
import { requestClientCredentials } from '../../../oauth/grants/client-credentials.ts';
import type { DpopKey } from '../../../oauth/client/dpop-key.ts';
import type { Http } from '../../../oauth/base/http.ts';
import { discoverIdentityProvider, requestByIdentity } from '../../../oauth/grants/id-jag.ts';
import type { IdentityRequest } from '../../../oauth/grants/id-jag.ts';
import type { Exceptions } from '../../../oauth/base/exceptions.ts';
import type { TokenResponse } from '../../../oauth/grants/token.ts';
import { redeemWorkloadAssertion } from '../../../oauth/grants/workload.ts';
import type { Destination } from '../../destination/destination.ts';
import type { RegistrationRecord, Registrations } from '../../records/registrations.ts';
import { serverTime } from '../../../oauth/base/server-clock.ts';
import { companySignIn } from '../../records/company.ts';
import { companyIdToken, CompanySignInNeeded } from './company-session.ts';
import type { IdTokenUse } from './assertion-sources.ts';

export interface UnattendedRequest {
  readonly destination: Destination;
  readonly record: RegistrationRecord;
  readonly scope: readonly string[] | undefined;
  readonly exceptions: Exceptions;
  readonly dpopKey: DpopKey | undefined;
  /** The sign-in to renew. */
  readonly signInId: string | undefined;
  /** The user's own sign-in, not an app's request. */
  readonly isByUser: boolean;
  readonly signal: AbortSignal;
}

/** The client for tokens without a user, if the user entered one for this issuer. */
export function unattendedRecord(
  registrations: Registrations,
  issuer: string,
  now: number,
): RegistrationRecord | undefined {
  const record = registrations.for(issuer, now);
  return record?.grantType === undefined ? undefined : record;
}

/**
 * Throws what the requests and `keep` throw; `file_unreadable` if the ID token's file can't be read,
 * `assertion_invalid` for a workload's assertion. `keep` judges the tokens as well: an assertion whose tokens it refuses
 * rests for a while.
 */
export async function requestUnattended<T>(
  parts: BrokerParts,
  { destination, record, scope, exceptions, dpopKey, signInId, isByUser, signal }: UnattendedRequest,
  http: Http,
  keep: (answer: TokenResponse) => Promise<T>,
): Promise<T> {
  const { registrations, assertions } = parts;
  const { server, resource } = destination;
  const clientSecret = await registrations.secret(record);
  const { registration } = record;
  const request = { server, registration, clientSecret, resource, exceptions, scope, dpopKey };
  if (record.assertion !== undefined) {
    const use = { source: record.assertion, issuer: server.issuer, isByUser };
    return assertions.use(use, async (assertion) =>
      keep(await redeemWorkloadAssertion({ ...request, assertion }, http)),
    );
  }
  if (!record.idp) return keep(await requestClientCredentials(request, http));
  const use = { idp: record.idp, resource, signInId, isByUser, http, signal };
  return withCompanyCredentials(parts, use, async (credentials) =>
    keep(await requestByIdentity({ ...request, ...credentials }, http)),
  );
}

/** The ID token, and the client at the provider that it was issued to. */
type Credentials = Pick<IdentityRequest, 'identityProvider' | 'idToken'>;

interface CompanyUse extends Omit<IdTokenUse, 'file'> {
  readonly idp: NonNullable<RegistrationRecord['idp']>;
  readonly http: Http;
  readonly signal: AbortSignal;
}

async function withCompanyCredentials<T>(
  parts: BrokerParts,
  { idp, http, signal, ...use }: CompanyUse,
  redeem: (credentials: Credentials) => Promise<T>,
): Promise<T> {
  const { issuer, clientId, idTokenFile: file } = idp;
  const server = await discoverIdentityProvider(issuer, http);
  if (file !== undefined && clientId !== undefined) {
    // The company's provider knows us as a public client, by the id the user entered.
    const registration = { issuer, clientId, tokenEndpointAuthMethod: 'none' } as const;
    return parts.assertions.useIdToken({ ...use, file }, async (idToken) =>
      redeem({ identityProvider: { server, registration }, idToken }),
    );
  }
  const idToken = await companyIdToken(parts, issuer, { now: serverTime(http, server), signal });
  const record = parts.registrations.byId(companySignIn(parts.signIns, issuer)?.registrationId ?? '');
  if (!record) throw new CompanySignInNeeded(issuer);
  const clientSecret = await parts.registrations.secret(record);
  return redeem({
    identityProvider: { server, registration: record.registration, clientSecret },
    idToken,
  });
}
