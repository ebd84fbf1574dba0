/** Approvals of commands that one process asks for: there is no socket here, which tells who asks. */
import type { Broker } from '../../../src/broker/broker.ts';
import type { ProcessState } from '../../../src/broker/approval-requests/app-process.ts';
import { Proxies } from '../../../src/broker/records/proxy.ts';
import { Approvals } from '../../../src/daemon/approvals/approvals.ts';
import type { AppProcesses } from '../../../src/daemon/apps/app-processes.ts';
import { looseRecords } from '../../broker/rig.ts';

export function approvalsAt(broker: Broker, standing: () => ProcessState = () => 'same'): Approvals {
  const currentFacts = () => ({ run: 'r', verified: true, pid: 7, executable: '/bin/node', nowIs: standing });
  return new Approvals({
    broker,
    proxies: new Proxies(looseRecords()),
    forwards: { refuse: () => undefined },
    processes: { of: () => ({ run: 'r', currentFacts }) } as unknown as AppProcesses,
    checkSetting: () => ({ name: 'logLevel', value: 'debug' }),
  });
}
