/**
 * Which servers answer without a token: their entries need nothing of Keyturn's.
 *
 * Invariants: an entry with a key is never asked about, since its key is in plain text. Nothing is sent for the file of a
 * project, which may come from a stranger. A server that can't be reached counts as one that wants a sign-in.
 */
import { reasonOf } from '../base/errors.ts';
import type { Http } from '../oauth/base/http.ts';
import { discoverResource } from '../oauth/discovery/discovery.ts';
import type { Finding } from './plan.ts';
import type { SurveyedConfig } from './survey.ts';

/** The way to a server, by its endpoint. */
export type NetworkFor = (endpoint: string) => Http | Promise<Http>;

/** The same files, in which the entries of open servers stay as they are. */
export async function leaveOpenServers(
  files: readonly SurveyedConfig[],
  networkFor: NetworkFor,
): Promise<readonly SurveyedConfig[]> {
  const asked = new Map<string, Promise<boolean>>();
  const ask = async (endpoint: string): Promise<boolean> => {
    const answer = asked.get(endpoint) ?? isOpen(endpoint, networkFor);
    asked.set(endpoint, answer);
    return answer;
  };
  const look = async (finding: Finding): Promise<Finding> => {
    // One that started the bridge stays with it.
    const isAsked = finding.kind === 'switch' && !finding.key && finding.gone === undefined;
    if (!isAsked || !(await ask(finding.endpoint))) return finding;
    const { entry, way } = finding;
    return { entry, way, kind: 'left', why: 'it needs no sign-in', exposed: [] };
  };
  return Promise.all(
    files.map(async (file) =>
      file.config.scope === 'project'
        ? file
        : { ...file, findings: await Promise.all(file.findings.map(look)) },
    ),
  );
}

async function isOpen(endpoint: string, networkFor: NetworkFor): Promise<boolean> {
  try {
    await discoverResource(endpoint, await networkFor(endpoint));
    return false;
  } catch (error) {
    return reasonOf(error) === 'authorization_not_required';
  }
}
