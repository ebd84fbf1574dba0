/** Who asks on the cards of the example desk. */
import type { ResultOn } from '../../../electron/bridge/channels.ts';

type Question = ResultOn<'request.list'>['requests'][number];

/** A process whose file, arguments and names are all this text. */
export function hostileProcess(text: string): Question['appProcess'] {
  const claimed = text.slice(0, 256);
  return {
    verified: true,
    pid: 7,
    executable: text,
    file: 'interpreter',
    claim: { script: claimed, arguments: [claimed], isCut: true, folder: claimed },
    enclosures: [{ kind: 'unit', name: claimed }],
    parents: [text, 'sh'],
  };
}

export const attestedEditor: Question['appProcess'] = {
  verified: true,
  pid: 4711,
  executable: '/usr/bin/editor',
  file: 'attested',
  parents: ['bash', 'tmux', 'systemd'],
};
