/**
 * One request of a browser for an authorization that waits: what its answer needs, and the ways to answer.
 *
 * Invariant: a form token is for one page: it names the authorization and the step.
 */
import { createHmac } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Interaction, Provider } from 'oidc-provider';
import type { Storage } from '../storage/storage.ts';
import type { SignInStep } from './accounts/accounts.ts';
import { pageHeaders } from './base/pages.ts';
import type { Consents } from './consents.ts';
import type { Settings } from './options.ts';
import { pathOf } from './provider-settings.ts';

export const tokenField = 'form_token';

export interface InteractionParts {
  readonly settings: Settings;
  readonly provider: () => Provider;
  readonly storage: Storage;
  readonly consents: Consents;
  /** For form tokens. */
  readonly secret: string;
}

export interface Step extends InteractionParts {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly interaction: Interaction;
  readonly form: Readonly<Record<string, string>> | undefined;
}

export function signInStepOf(step: Step): SignInStep {
  const { settings, request, interaction, form } = step;
  return {
    request,
    form,
    action: actionOf(step),
    formToken: [tokenField, formTokenOf(step.secret, interaction)],
    interaction: interaction.uid,
    issuer: settings.issuer,
    query: new URL(request.url ?? '/', settings.issuer).searchParams,
    isAnew: interaction.prompt.reasons.some((reason) => reason !== 'no_session'),
    ...memoryOf(step),
  };
}

/** What a kind of accounts remembers between two requests of one sign-in. */
function memoryOf({ storage, settings, interaction: { uid, exp } }: Step): Pick<SignInStep, 'keep' | 'take'> {
  const kind = 'SignIn';
  return {
    keep: async (payload) => storage.put(kind, uid, { payload, expiresAt: exp }),
    async take() {
      const isFirst = await storage.consume(kind, uid, Math.floor(settings.now() / 1000));
      return isFirst ? (await storage.get(kind, uid))?.payload : undefined;
    },
  };
}

export function actionOf({ settings, interaction }: Step): string {
  return `${pathOf(settings.issuer)}/interaction/${interaction.uid}`;
}

/** One page's token is no other page's: it names the authorization and the step. */
export function formTokenOf(secret: string, { uid, prompt }: Interaction): string {
  return createHmac('sha256', secret).update(`${uid} ${prompt.name}`).digest('base64url');
}

export async function finish(
  step: Step,
  result: Parameters<Provider['interactionFinished']>[2],
): Promise<void> {
  await step
    .provider()
    .interactionFinished(step.request, step.response, result, { mergeWithLastSubmission: true });
}

export function send(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, pageHeaders).end(html);
}

export function sendOn(response: ServerResponse, location: string): void {
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
  response.writeHead(303, headers).end();
}
