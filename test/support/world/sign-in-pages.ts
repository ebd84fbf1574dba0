/**
 * The person's side of an authorization: sign-in, then consent, as plain HTML forms.
 *
 * Invariant: every consent makes a new grant, unless the server is set up to share one among a client's
 * authorizations by a person, as many real ones do: there revoking one ends all the others with it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Interaction, Provider } from 'oidc-provider';
import { z } from 'zod';
import { consentPage, errorPage, pageHeaders, signInPage } from './pages.ts';

export interface SignInOptions {
  readonly accounts: readonly string[];
  /** By account and client, the grant that all its authorizations share; absent: each gets its own. */
  readonly sharedGrants?: Map<string, string>;
  onSignIn(account: string): void;
}

const requestParameters = z.object({
  client_id: z.string(),
  redirect_uri: z.string(),
  scope: z.string().optional(),
  resource: z.union([z.string(), z.array(z.string())]).optional(),
});

const form = z.object({ login: z.string().optional(), decision: z.enum(['allow', 'deny']).optional() });

/** A form of ours holds one short field; anything longer isn't one of ours. In bytes. */
const maxFormLength = 4096;

/** Serves `/interaction/…`; a request that belongs to no waiting authorization gets an error page. */
export function signInPages(provider: Provider, options: SignInOptions) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const interaction = await provider.interactionDetails(request, response);
      const answer = request.method === 'POST' ? form.parse(await readForm(request)) : {};
      const ask = interaction.prompt.name === 'login' ? signIn : consent;
      await ask({ provider, options, request, response, interaction }, answer);
    } catch {
      send(response, 400, errorPage('invalid_request', 'No authorization is waiting here. Start again.'));
    }
  };
}

interface Step {
  readonly provider: Provider;
  readonly options: SignInOptions;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly interaction: Interaction;
}

async function signIn(step: Step, answer: z.infer<typeof form>): Promise<void> {
  const { accounts } = step.options;
  const action = `/interaction/${step.interaction.uid}`;
  if (answer.login === undefined) {
    send(step.response, 200, signInPage(action, accounts));
  } else if (accounts.includes(answer.login)) {
    step.options.onSignIn(answer.login);
    await finish(step, { login: { accountId: answer.login } });
  } else {
    send(step.response, 400, signInPage(action, accounts, 'There is no such account.'));
  }
}

async function consent(step: Step, answer: z.infer<typeof form>): Promise<void> {
  const { interaction, provider } = step;
  const parameters = requestParameters.parse(interaction.params);
  const account = interaction.session?.accountId ?? '';
  const resources = [parameters.resource ?? []].flat();
  if (answer.decision === 'deny') {
    await finish(step, { error: 'access_denied', error_description: 'the user denied the request' });
  } else if (answer.decision === 'allow') {
    const grant = await grantFor(step, account, parameters.client_id);
    const scope = parameters.scope ?? '';
    grant.addOIDCScope(scope);
    for (const resource of resources) grant.addResourceScope(resource, scope);
    const grantId = await grant.save();
    step.options.sharedGrants?.set(keyOf(account, parameters.client_id), grantId);
    await finish(step, { consent: { grantId } });
  } else {
    const client = await provider.Client.find(parameters.client_id);
    const question = {
      client: client?.clientName ?? parameters.client_id,
      account,
      redirectHost: new URL(parameters.redirect_uri).host,
      resources,
      scopes: parameters.scope?.split(' ') ?? [],
    };
    send(step.response, 200, consentPage(`/interaction/${interaction.uid}`, question));
  }
}

async function grantFor({ provider, options }: Step, accountId: string, clientId: string) {
  const shared = options.sharedGrants?.get(keyOf(accountId, clientId));
  const found = shared === undefined ? undefined : await provider.Grant.find(shared);
  return found ?? new provider.Grant({ accountId, clientId });
}

const keyOf = (account: string, client: string): string => `${account} ${client}`;

async function finish(step: Step, result: Parameters<Provider['interactionFinished']>[2]): Promise<void> {
  await step.provider.interactionFinished(step.request, step.response, result);
}

function send(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, pageHeaders).end(html);
}

async function readForm(request: IncomingMessage): Promise<Record<string, string>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request) {
    if (!(chunk instanceof Uint8Array)) throw new TypeError('a request is read as bytes');
    length += chunk.length;
    if (length > maxFormLength) throw new RangeError('the form is too long');
    chunks.push(chunk);
  }
  return Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString('utf8')));
}
