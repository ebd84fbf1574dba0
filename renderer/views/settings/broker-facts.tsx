/** What there is to know of the running broker: version, log, shield, clocks, files, and every setting. */
import { Fact, Facts, TextFact, PathFact, Path, maxPathLength } from '../../parts/facts.tsx';
import { sanitize, sanitizeSentence } from '../../base/untrusted-text.ts';
import { Address, UntrustedText } from '../../parts/untrusted-text.tsx';
import { Notice } from '../../parts/notice.tsx';
import { NextStart } from './setting-choice.tsx';
import { strings } from '../../base/strings.ts';
import { UnconfirmedFacts } from '../../cards/settings-card.tsx';
import type { SettingDetail, Status } from '../../base/views.ts';
import { formatNumber, formatSetting } from '../../base/format.ts';

const words = strings.settings;

interface BrokerFactsProps {
  readonly status: Status;
  readonly details: readonly SettingDetail[];
}

/** Something is written there that a user should read soon. */
export function needsAttention({ insecureLoopback, unreadable, homeState }: Status): boolean {
  return (
    insecureLoopback ||
    unreadable.length > 0 ||
    homeState.state === 'mismatched' ||
    homeState.differing.length > 0
  );
}

export function BrokerFacts({ status, details }: BrokerFactsProps) {
  const { insecureLoopback, unreadable, version, home, browser } = status;
  return (
    <section class="card" aria-labelledby="broker-title">
      <h3 id="broker-title">{words.broker}</h3>
      {insecureLoopback && <Notice kind="warn">{words.insecure}</Notice>}
      {unreadable.length > 0 && <Unreadable files={unreadable} />}
      <HomeNotice home={status.homeState} />
      <Facts>
        <TextFact name={words.version} text={version} />
        <PathFact name={words.home} text={home} />
        <Log status={status} />
        <Fact name={words.shield}>
          {status.unshielded.length === 0 ? (
            words.shieldWhole
          ) : (
            <ul>
              {status.unshielded.map((line) => (
                <li key={line}>{sanitize(line, maxPathLength).text}</li>
              ))}
            </ul>
          )}
        </Fact>
        {status.clocks.length > 0 && <Clocks clocks={status.clocks} />}
        <Fact name={words.browser}>
          {browser === undefined ? (
            words.browserSystem
          ) : (
            <UntrustedText text={browser} bound={maxPathLength} />
          )}
        </Fact>
      </Facts>
      <details class="disclosure">
        <summary>{words.other}</summary>
        <p class="dim small">{words.otherHint}</p>
        <Facts>
          {details.map((detail) => (
            <Fact key={detail.name} name={detail.name}>
              <SettingFact detail={detail} />
            </Fact>
          ))}
        </Facts>
      </details>
    </section>
  );
}

/** What was written outside Keyturn, and why nothing is served. */
function HomeNotice({ home: { state, why = '', differing } }: { readonly home: Status['homeState'] }) {
  return (
    <>
      {state === 'mismatched' && (
        <Notice kind="bad">
          <p>{sanitizeSentence(why)}</p>
          <p>{words.strange}</p>
        </Notice>
      )}
      {differing.length > 0 && (
        <Notice kind="warn">
          <p>{words.unapproved}</p>
          <UnconfirmedFacts settings={differing} />
        </Notice>
      )}
    </>
  );
}

function Log({ status: { log, audit } }: { readonly status: Status }) {
  return (
    <>
      <Fact name={words.logFile}>
        {log.file === undefined ? words.logTerminal : <Path text={log.file} />}
        {!log.ok && <span class="tag warn">{words.logBroken}</span>}
      </Fact>
      {audit && (
        <Fact name={words.audit}>
          {words.auditFailing({ count: audit.waiting })}{' '}
          <UntrustedText text={audit.why} bound={maxPathLength} />
        </Fact>
      )}
    </>
  );
}

function Clocks({ clocks }: { readonly clocks: Status['clocks'] }) {
  return (
    <Fact name={words.clocks}>
      {clocks.map(({ issuer, ahead }) => {
        const seconds = formatNumber(Math.abs(ahead));
        return (
          <p key={issuer}>
            <Address url={issuer} />{' '}
            {ahead > 0 ? words.clockAhead({ seconds }) : words.clockBehind({ seconds })}
          </p>
        );
      })}
    </Fact>
  );
}

function SettingFact({
  detail: { value, source, appliesImmediately: live },
}: {
  readonly detail: SettingDetail;
}) {
  return (
    <>
      {value === undefined || value === null ? (
        <span class="dim">{words.unset}</span>
      ) : (
        <UntrustedText text={formatSetting(value)} />
      )}{' '}
      {source === 'environment' && <span class="tag">{words.fromEnvironment}</span>}{' '}
      <NextStart isLive={live} />
    </>
  );
}

function Unreadable({ files }: { readonly files: Status['unreadable'] }) {
  return (
    <Notice kind="bad">
      <p>{words.unreadable}</p>
      <ul>
        {files.map(({ file, why }) => (
          <li key={file}>
            <UntrustedText text={file} bound={maxPathLength} />: {sanitizeSentence(why)}
          </li>
        ))}
      </ul>
    </Notice>
  );
}
