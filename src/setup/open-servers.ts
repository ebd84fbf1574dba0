/**
 * Which entries stay as they are: those of servers that answer without a token, and those that Keyturn would refuse.
 *
 * Invariants: an entry with a key is never asked about, since its key is in plain text. Nothing is sent for the file of a
 * project, which may come from a stranger. A server that can't be reached counts as one that wants a sign-in.
 */
import { KeyturnError, reasonOf } from '../base/errors.ts';
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
  const asked = new Map<string, Promise<string | undefined>>();
  const reasonOnce = async (finding: Switch): Promise<string | undefined> => {
    const { endpoint, key } = finding;
    const name = `${key === undefined} ${endpoint}`;
    const answer = asked.get(name) ?? reasonToLeave(finding, networkFor);
    asked.set(name, answer);
    return answer;
  };
  const look = async (finding: Finding): Promise<Finding> => {
    // One that started the bridge stays with it.
    const why =
      finding.kind === 'switch' && finding.gone === undefined ? await reasonOnce(finding) : undefined;
    if (finding.kind !== 'switch' || why === undefined) return finding;
    const { entry, way, key } = finding;
    return { entry, way, kind: 'left', why, exposed: key ? [key.header] : [] };
  };
  return Promise.all(
    files.map(async (file) =>
      file.config.scope === 'project'
        ? file
        : { ...file, findings: await Promise.all(file.findings.map(look)) },
    ),
  );
}

async function reasonToLeave({ endpoint, key }: Switch, networkFor: NetworkFor): Promise<string | undefined> {
  try {
    const http = await networkFor(endpoint);
    endpointOf(endpoint, http);
    if (!key) await discoverResource(endpoint, http);
    return undefined;
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === 'authorization_not_required') return 'it needs no sign-in';
    // Such as plain http: the bridge would be refused too.
    if (reason !== 'invalid_resource' || !(error instanceof KeyturnError)) return undefined;
    return `${error.message} ${error.hint ?? ''}`.trim();
  }
}
