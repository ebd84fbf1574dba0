/**
 * A sign-in on another device (RFC 8628), for machines whose loopback address no browser can reach.
 *
 * Invariant: only the user starts it, and only the user sees the code; an app never does.
 */
import type { BrokerParts } from '../parts.ts';
import { reasonOf } from '../../base/errors.ts';
import type { DeviceAuthorization } from '../../oauth/grants/device.ts';
import { pollDeviceAuthorization, startDeviceAuthorization } from '../../oauth/grants/device.ts';
import type { GrantRequest, TokenResponse } from '../../oauth/grants/token-response.ts';
import { exceptionsAt, registeredScope } from '../destination/destination.ts';
import type { SignIn } from '../records/sign-in.ts';
import { askedScope } from './asked-scope.ts';
import { calledOff } from '../refusals/pending-refusals.ts';
import { prepareIdentity } from '../destination/redirect.ts';
import { giveUpClient, replacingClient, useFromNowOn } from './refused-client.ts';
import type { ClientOutcome, ClientRefusal } from './refused-client.ts';
import type { RegistrationRecord } from '../records/registrations.ts';
import type { SignInContext, StoreTokens } from './sign-in-context.ts';
import { signInDetails } from '../approval-requests/starter.ts';
import type { Identity } from '../destination/known-client.ts';

export async function signInByDevice(
  parts: BrokerParts,
  context: SignInContext,
  storeTokens: StoreTokens,
  opened: () => void,
  signal: AbortSignal,
): Promise<SignIn> {
  const { record, refused, device, authorization } = await replacingClient(parts, context, (before) =>
    start(parts, context, before),
  );
  opened();
  const answer = await approval(parts, context, device, authorization, signal);
  const signIn = await storeTokens({ record, answer, asked: device.scope });
  await useFromNowOn(parts, record, refused);
  return signIn;
}

interface StartedDevice {
  readonly record: RegistrationRecord;
  readonly device: GrantRequest;
  readonly authorization: DeviceAuthorization;
  /** The client that was replaced. */
  readonly refused: ClientRefusal | undefined;
}

async function start(
  parts: BrokerParts,
  context: SignInContext,
  before: ClientRefusal | undefined,
): Promise<ClientOutcome<StartedDevice>> {
  const { request, destination } = context;
  const { identity, device } = await prepare(parts, context, before);
  const { record } = identity;
  try {
    const authorization = await startDeviceAuthorization(device, parts.network(request.endpoint));
    return { value: { record, device, authorization, refused: before } };
  } catch (error) {
    if (reasonOf(error) !== 'client_rejected') throw error;
    const { server } = destination;
    return giveUpClient(parts.registrations, { identity, server, before, error, saidBy: 'server' });
  }
}

/** The same client as with a browser, if it may be used for this. */
async function prepare(
  parts: BrokerParts,
  context: SignInContext,
  refused: ClientRefusal | undefined,
): Promise<{ readonly identity: Identity; readonly device: GrantRequest }> {
  const { request, destination, dpopKey } = context;
  const { server, resource } = destination;
  const http = parts.network(request.endpoint);
  const asked = registeredScope(destination, context.scope);
  const wanted = { ...asked, isDevice: true, isByUser: !request.isAutomatic };
  const identity = await prepareIdentity(parts, server, http, wanted, refused);
  const { record } = identity;
  const clientSecret = await parts.registrations.secret(record);
  const scope = askedScope(context, record);
  const exceptions = exceptionsAt(parts, request.endpoint, destination);
  const { registration } = record;
  const device = { server, registration, clientSecret, resource, exceptions, scope, dpopKey };
  return { identity, device };
}

/** Asks the server until the user is done, as often as it allows. The wait ends with the code's `expiresAt`. */
async function approval(
  parts: BrokerParts,
  { request, destination }: SignInContext,
  device: GrantRequest,
  authorization: DeviceAuthorization,
  signal: AbortSignal,
): Promise<TokenResponse> {
  const { issuer } = destination.server;
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const { userCode, verificationUri, verificationUriComplete } = authorization;
  const question = {
    kind: 'device',
    endpoint: request.endpoint,
    issuer,
    userCode,
    url: verificationUri,
    ...signInDetails(request),
    completeUrl: verificationUriComplete,
  } as const;
  const refused = parts.approvalRequests.ask(question, either).then((): never => {
    throw calledOff(question);
  });
  const granted = poll(parts, request.endpoint, device, authorization, either);
  for (const pending of [refused, granted]) pending.catch(() => undefined);
  try {
    return await Promise.race([granted, refused]);
  } finally {
    over.abort();
  }
}

async function poll(
  { clock, network }: BrokerParts,
  endpoint: string,
  device: GrantRequest,
  authorization: DeviceAuthorization,
  signal: AbortSignal,
): Promise<TokenResponse> {
  const http = network(endpoint);
  let { interval } = authorization;
  for (;;) {
    await clock.sleep(interval * 1000, signal);
    const step = await pollDeviceAuthorization(authorization, interval, device, http);
    if (step.kind === 'granted') return step.answer;
    ({ interval } = step);
  }
}
