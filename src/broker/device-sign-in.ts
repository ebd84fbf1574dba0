/**
 * A sign-in on another device (RFC 8628), for machines whose loopback no browser reaches.
 *
 * Invariant: started by the user only; the code is shown to the user only, never to a local client.
 */
import type { DeviceAuthorization } from '../oauth/device.ts';
import { pollDeviceAuthorization, startDeviceAuthorization } from '../oauth/device.ts';
import type { DeviceRequest } from '../oauth/device.ts';
import type { TokenAnswer } from '../oauth/token.ts';
import type { Grant } from './grant.ts';
import { calledOff } from './page-sign-in.ts';
import { prepareRedirect } from './redirect.ts';
import type { RegistrationRecord } from './registrations.ts';
import type { Errand, Keep, SignInParts } from './sign-in.ts';

export async function signInByDevice(
  parts: SignInParts,
  errand: Errand,
  keep: Keep,
  opened: () => void,
  signal: AbortSignal,
): Promise<Grant> {
  const { request, destination, scope } = errand;
  const { server, resource } = destination;
  const http = parts.network(request.endpoint);
  const record = await registration(parts, errand);
  const clientSecret = await parts.registrations.secret(record);
  const device: DeviceRequest = {
    server,
    registration: record.registration,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    resource,
    overrides: parts.overrides.for(request.endpoint, server.issuer),
    ...(scope === undefined ? {} : { scope }),
  };
  const authorization = await startDeviceAuthorization(device, http);
  opened();
  const answer = await approval(parts, errand, device, authorization, signal);
  return keep({ record, answer });
}

/** The same identity as with a browser; its listener is not needed. */
async function registration(
  parts: SignInParts,
  { request, destination }: Errand,
): Promise<RegistrationRecord> {
  const { receiver, record } = await prepareRedirect(
    parts,
    destination.server,
    parts.network(request.endpoint),
  );
  await receiver.close();
  return record;
}

/** Asks as often as the server allows until the person is done; `expiresAt` of the code ends it. */
async function approval(
  parts: SignInParts,
  { request, destination }: Errand,
  device: DeviceRequest,
  authorization: DeviceAuthorization,
  signal: AbortSignal,
): Promise<TokenAnswer> {
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
    ...(verificationUriComplete === undefined ? {} : { completeUrl: verificationUriComplete }),
  } as const;
  const refused = parts.interactions.ask(question, either).then((): never => {
    throw calledOff(issuer, request.endpoint);
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
  { clock, network }: SignInParts,
  endpoint: string,
  device: DeviceRequest,
  authorization: DeviceAuthorization,
  signal: AbortSignal,
): Promise<TokenAnswer> {
  const http = network(endpoint);
  let { interval } = authorization;
  for (;;) {
    await clock.sleep(interval * 1000, signal);
    const step = await pollDeviceAuthorization(authorization, interval, device, http);
    if (step.kind === 'granted') return step.answer;
    ({ interval } = step);
  }
}
