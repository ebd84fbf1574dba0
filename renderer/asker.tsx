/**
 * Who asks: the program's name, its file, its process and what started it, and how far that is known.
 *
 * Invariant: a name alone is always shown as unverified.
 */
import { Icon } from './icon.tsx';
import { Foreign } from './foreign.tsx';
import { Notice } from './notice.tsx';
import { ScrollBox } from './scroll-box.tsx';
import { strings } from './strings.ts';
import type { LocalClient, Question } from './views.ts';

const words = strings.card;

/** Characters of a path. */
export const longestPath = 300;

interface AskerProps {
  readonly question: Question;
  /** What stands as the name; of a command, that it is one. */
  readonly name: string;
  /** What is to be known of that name. */
  readonly note?: string;
  /** The paired program of that name. */
  readonly paired?: Pick<LocalClient, 'executable'> | undefined;
  /** Whether the paired programs are known yet. */
  readonly isRead: boolean;
}

export function Asker({ question: { asker }, name, note, paired, isRead }: AskerProps) {
  const { verified = false, executable, pid, parents = [] } = asker ?? {};
  const file = executable ?? paired?.executable;
  return (
    <div class="party">
      <Icon name="program" />
      <div>
        <p class="party-name">
          <strong>
            <Foreign text={name} />
          </strong>{' '}
          <Attestation isAttested={verified} />
        </p>
        {note !== undefined && <p class="dim small">{note}</p>}
        {file !== undefined && (
          <ScrollBox label={words.file}>
            <p class="path">
              <Foreign text={file} bound={longestPath} />
              {executable === undefined && <span class="dim"> {words.seenAtPairing}</span>}
            </p>
          </ScrollBox>
        )}
        {pid !== undefined && (
          <p class="dim small">
            {words.process(String(pid))}
            <Parents names={parents} />
          </p>
        )}
        {!verified && isRead && <p class="dim small">{words.unverifiedWhat}</p>}
        <OtherFile now={executable} before={paired?.executable} />
      </div>
    </div>
  );
}

export function Attestation({ isAttested }: { readonly isAttested: boolean }) {
  return isAttested ? (
    <span class="tag good" title={words.verifiedWhat}>
      <Icon name="shield" /> {words.verified}
    </span>
  ) : (
    <span class="tag warn" title={words.unverifiedWhat}>
      <Icon name="ask" /> {words.unverified}
    </span>
  );
}

function Parents({ names }: { readonly names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <>
      {', '}
      {words.startedBy}{' '}
      {names.map((name, at) => (
        <span key={`${at} ${name}`}>
          {at > 0 && ' ← '}
          <Foreign text={name} />
        </span>
      ))}
    </>
  );
}

/** The same name from another file: an update, or something else by that name. */
function OtherFile({
  now,
  before,
}: {
  readonly now: string | undefined;
  readonly before: string | undefined;
}) {
  if (now === undefined || before === undefined || now === before) return null;
  return (
    <Notice kind="warn">
      {words.otherFile}{' '}
      <span class="path">
        <Foreign text={before} bound={longestPath} />
      </span>
    </Notice>
  );
}
