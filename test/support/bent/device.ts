/** Device authorization (RFC 8628). A device code gives tokens once, and only after approval of its user code. */
import { randomInt } from 'node:crypto';
import type { Answer, RecordedRequest } from './server.ts';
import { authenticate } from './client-authentication.ts';
import { answerJson, type BentClient, type Parts, Refusal, once, required, scopesOf } from './parties.ts';
import type { Json } from './jwt.ts';
import { type DeviceRequest, issueWithRefresh, randomValue, requestedResources } from './token-store.ts';

/** Seconds: longer than any test; a test ends one by `endDevice`. */
const lifetime = 600;

/** RFC 8628 §6.1: no vowels, so that no words come about. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';

export function answerDeviceRequest(parts: Parts, request: RecordedRequest): Answer {
  return answerJson(parts, request, { answer: parts.bend.deviceAnswer }, () => {
    once(request.form);
    const client = authenticate(parts, request);
    if (client.grantTypes?.includes('urn:ietf:params:oauth:grant-type:device_code') === false) {
      throw new Refusal('unauthorized_client', 'the client did not register the device grant');
    }
    const asked = scopesOf(request.form) ?? parts.settings.defaultScope;
    const device: DeviceRequest = {
      deviceCode: randomValue(),
      userCode: `${word()}-${word()}`,
      grant: {
        clientId: client.clientId,
        subject: parts.settings.subject,
        scopes: parts.bend.grantedScopes?.(asked, request) ?? asked,
        resources: request.form.getAll('resource'),
        ended: false,
      },
      state: 'pending',
    };
    parts.store.devices.set(device.deviceCode, device);
    const page = `${parts.server.base}/device`;
    return {
      device_code: device.deviceCode,
      user_code: device.userCode,
      verification_uri: page,
      verification_uri_complete: `${page}?user_code=${device.userCode}`,
      expires_in: lifetime,
      interval: 1,
    };
  });
}

function word(): string {
  return Array.from({ length: 4 }, () => letters[randomInt(letters.length)]).join('');
}

/** RFC 8628 §3.5. */
export function pollDevice(parts: Parts, client: BentClient, { form }: RecordedRequest): Json {
  parts.counts.devicePolls += 1;
  const device = parts.store.devices.get(required(form, 'device_code'));
  if (device === undefined || device.grant.clientId !== client.clientId || device.state === 'used') {
    throw new Refusal('invalid_grant', 'the device code is unknown');
  }
  if (parts.store.slowDowns > 0) {
    parts.store.slowDowns -= 1;
    throw new Refusal('slow_down', 'the polls come too often');
  }
  if (device.state === 'pending') throw new Refusal('authorization_pending', 'nobody has answered yet');
  if (device.state === 'denied') throw new Refusal('access_denied', 'the user denied it');
  if (device.state === 'expired') throw new Refusal('expired_token', 'the device code has expired');
  const resources = requestedResources(parts, device.grant, form);
  device.state = 'used';
  return issueWithRefresh(parts, device.grant, resources);
}

/** Ends the waiting of a user code, as its user would; throws for one that doesn't wait. */
export function endDevice(parts: Parts, userCode: string, state: 'approved' | 'denied' | 'expired'): void {
  const device = parts.store.devices
    .values()
    .find((one) => one.userCode === userCode && one.state === 'pending');
  if (device === undefined) throw new Error(`no device waits with the user code ${userCode}`);
  device.state = state;
}
