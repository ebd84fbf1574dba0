/**
 * Which entries stay as they are: those of servers that answer without a token, and those that Keyturn would refuse.
 *
 * Invariants: an entry with a key is never asked about, since its key is in plain text. Nothing is sent for the file of a
 * project, which may come from a stranger. A server that can't be reached counts as one that wants a sign-in, and the
 * entry says that it wasn't asked.
 */
import { KeyturnError, reasonOf, Unreachable } from '../base/errors.ts';
import type { Http } from '../oauth/base/http.ts';
import { endpointOf } from '../oauth/base/resource.ts';
import { discoverResource } from '../oauth/discovery/discovery.ts';
import type { Finding, Switch } from './plan.ts';
import type { SurveyedConfig } from './survey.ts';

/** The way to a server, by its endpoint. */
export type NetworkFor = (endpoint: string) => Http | Promise<Http>;

/** The same files, in which the entries of such servers stay as they are. */
export async function leaveOpenServers(
  files: readonly SurveyedConfig[],
  networkFor: NetworkFor,
): Promise<readonly SurveyedConfig[]> {
  const answers = new Map<string, Promise<Answer>>();
  const answerOnce = async ({ endpoint, key }: Switch, isOwn: boolean): Promise<Answer> => {
    const mayAsk = isOwn && key === undefined;
    const name = `${mayAsk} ${endpoint}`;
    const answer = answers.get(name) ?? answerFor(endpoint, networkFor, mayAsk);
    answers.set(name, answer);
    return answer;
  };
  const look = async (finding: Finding, isOwn: boolean): Promise<Finding> => {
    // One that started the bridge stays with it.
    if (finding.kind !== 'switch' || finding.gone !== undefined) return finding;
    const answer = await answerOnce(finding, isOwn);
    const { entry, keyPath, key } = finding;
    if (typeof answer === 'object')
      return { entry, keyPath, kind: 'left', why: answer.why, exposed: key ? [key.header] : [] };
    return answer === 'unasked' && !key ? { ...finding, isServerUnasked: true } : finding;
  };
  return Promise.all(
    files.map(async (file) => ({
      ...file,
      findings: await Promise.all(
        file.findings.map(async (finding) => look(finding, file.config.level === 'user')),
      ),
    })),
  );
}

type Answer = { readonly why: string } | 'wants a sign-in' | 'unasked';

/** `mayAsk`: something may be sent to the server. */
async function answerFor(endpoint: string, networkFor: NetworkFor, mayAsk: boolean): Promise<Answer> {
  // Only plain http may be refused before anything is sent.
  if (!mayAsk && !endpoint.startsWith('http:')) return 'unasked';
  try {
    const http = await networkFor(endpoint);
    endpointOf(endpoint, http);
    if (!mayAsk) return 'unasked';
    await discoverResource(endpoint, http);
    return 'wants a sign-in';
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === 'authorization_not_required') return { why: 'it needs no sign-in' };
    // The bridge would be refused too.
    if (reason === 'invalid_resource' && error instanceof KeyturnError)
      return { why: `${error.message} ${error.hint ?? ''}`.trim() };
    return error instanceof Unreachable || !(error instanceof KeyturnError) ? 'unasked' : 'wants a sign-in';
  }
}
