/** Who uses what: the connected apps, the servers, and the lines between them. */
import { useMemo, useState, useLayoutEffect, useRef } from 'preact/hooks';
import { formatCount } from '../../base/format.ts';
import { strings } from '../../base/strings.ts';
import { sanitize } from '../../base/untrusted-text.ts';
import { Empty, ListFrame } from '../../lists/list-frame.tsx';
import { Button } from '../../parts/button.tsx';
import { SignInState } from '../../parts/state-mark.tsx';
import { Name, TextList } from '../../parts/untrusted-text.tsx';
import { When } from '../../parts/when.tsx';
import { goTo } from '../../state/route.ts';
import { useList } from '../../state/store.ts';
import { useUses } from '../../state/uses.ts';
import { Sparkline } from '../activity/recent-activity.tsx';
import { graphOf, type AppNode, type Graph, type ServerNode, type Link } from './graph.ts';
import { addItem } from '../servers/servers.tsx';
import { ViewHead } from '../../parts/view-head.tsx';

const words = strings.overview;

export function Overview() {
  const signIns = useList('signIn.list');
  const clients = useList('app.list');
  const keys = useList('apiKey.list').value?.apiKeys;
  const uses = useUses();
  const graph = useMemo(
    () =>
      graphOf({
        clients: clients.value?.apps ?? [],
        signIns: signIns.value?.signIns ?? [],
        keys: keys ?? [],
        uses,
      }),
    [clients.value, signIns.value, keys, uses],
  );
  return (
    <>
      <ViewHead title={words.title} lead={words.lead}>
        <Button text={strings.servers.add} onPress={() => goTo('servers', addItem)} />
      </ViewHead>
      <ListFrame
        loaded={clients.value === undefined ? clients : signIns}
        isEmpty={graph.servers.length === 0}
        words={words}
      >
        <Picture graph={graph} />
      </ListFrame>
    </>
  );
}

function Picture({ graph: { apps, servers, links, isCut } }: { readonly graph: Graph }) {
  const [hot, heat] = useState<string>();
  return (
    <section class="card" aria-label={words.title}>
      <div class="graph">
        <h3>{strings.apps.title}</h3>
        <h3 class="servers-title">{strings.servers.title}</h3>
        <ul class="apps">
          {apps.map((app) => (
            <li key={app.id}>
              <AppButton app={app} onHeat={heat} />
            </li>
          ))}
          {apps.length === 0 && <Empty title={strings.apps.emptyTitle} text={strings.apps.empty} />}
        </ul>
        <LinkLines links={links} hot={hot} />
        <ul class="servers">
          {servers.map((server) => (
            <li key={server.endpoint}>
              <ServerButton server={server} onHeat={heat} />
            </li>
          ))}
        </ul>
      </div>
      <p class="dim small">{isCut ? words.cut : words.hint}</p>
    </section>
  );
}

type Heat = (node: string | undefined) => void;

/** What makes a node's lines stand out: the pointer, or the focus. */
const heating = (node: string, heat: Heat) => ({
  onPointerEnter: () => heat(node),
  onPointerLeave: () => heat(undefined),
  onFocus: () => heat(node),
  onBlur: () => heat(undefined),
});

function AppButton({ app, onHeat }: { readonly app: AppNode; readonly onHeat: Heat }) {
  const { id, name, lastUsedAt, servers, use } = app;
  return (
    <button type="button" class="node" {...heating(id, onHeat)} onClick={() => goTo('apps', id)}>
      <span class="node-name">
        <Name text={name} bound={60} />
      </span>
      <Sparkline values={use.hours} />
      <span class="node-more dim small">
        <Names names={servers.map(hostOf)} />
        {' · '}
        {lastUsedAt === undefined ? strings.never : <When at={lastUsedAt} />}
        <Total of={use.total} />
      </span>
    </button>
  );
}

function ServerButton({ server, onHeat }: { readonly server: ServerNode; readonly onHeat: Heat }) {
  const { endpoint, item, signIn, apps, use } = server;
  return (
    <button type="button" class="node" {...heating(endpoint, onHeat)} onClick={() => goTo('servers', item)}>
      <span class="node-name">
        <Name text={hostOf(endpoint)} bound={100} />
        {signIn && (signIn.state !== 'active' || signIn.trouble) && (
          <SignInState state={signIn.state} isTroubled={signIn.trouble !== undefined} />
        )}
        {item === undefined && <span class="dim small">{words.notSignedIn}</span>}
      </span>
      <Sparkline values={use.hours} />
      <span class="node-more dim small">
        {apps.length === 0 ? strings.servers.usedByNobody : <Names names={apps} />}
        {use.last !== undefined && (
          <>
            {' · '}
            <When at={use.last} />
          </>
        )}
        <Total of={use.total} />
      </span>
    </button>
  );
}

/** Names of one node; the rest is a number. */
const maxNames = 3;

function Names({ names }: { readonly names: readonly string[] }) {
  const rest = names.length - maxNames;
  return (
    <>
      <TextList texts={names.slice(0, maxNames)} bound={60} />
      {rest > 0 && `, ${strings.servers.more({ count: String(rest) })}`}
    </>
  );
}

/** What the sparkline shows, for readers. */
function Total({ of }: { readonly of: number }) {
  return (
    <span class="visually-hidden">
      . {strings.activity.chartText({ counts: formatCount(of, 'handedOut') })}
    </span>
  );
}

/** The whole address where it has no host, or could pass for another one. */
function hostOf(endpoint: string): string {
  return sanitize(endpoint).needsQuotes ? endpoint : URL.parse(endpoint)?.host || endpoint;
}

interface LinkLinesProps {
  readonly links: readonly Link[];
  /** An app's id, or an endpoint: its lines stand out. */
  readonly hot: string | undefined;
}

interface Line extends Link {
  readonly path: string;
}

/** Pixels. */
const widths = { least: 1.5, most: 5 };

/** The lines between apps and servers, for the eye only: each node says in words what it is connected with. */
function LinkLines({ links, hot }: LinkLinesProps) {
  const svg = useRef<SVGSVGElement>(null);
  const lines = useLines(svg, links);
  const most = Math.max(1, ...links.map(({ total }) => total));
  return (
    <svg class="links" ref={svg} aria-hidden="true" focusable="false">
      {lines.map(({ app, endpoint, total, path }) => (
        <path
          key={`${app} ${endpoint}`}
          class={hot === undefined ? 'link' : `link ${hot === app || hot === endpoint ? 'hot' : 'cold'}`}
          d={path}
          stroke-width={widths.least + (widths.most - widths.least) * (total / most)}
        />
      ))}
    </svg>
  );
}

/** Measured after each drawing, and as often as the picture changes its size: names may need several lines. */
function useLines(svg: { readonly current: SVGSVGElement | null }, links: readonly Link[]): readonly Line[] {
  const [lines, set] = useState<readonly Line[]>([]);
  useLayoutEffect(() => {
    const picture = svg.current?.parentElement;
    if (!picture) return;
    const measure = (): void => set(measured(picture, links));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(picture);
    return () => observer.disconnect();
  }, [svg, links]);
  return lines;
}

function measured(picture: Element, links: readonly Link[]): Line[] {
  const { width = 0, top = 0 } = picture.querySelector('.links')?.getBoundingClientRect() ?? {};
  const middles = (selector: string): number[] =>
    [...picture.querySelectorAll(selector)].map((node) => {
      const box = node.getBoundingClientRect();
      return Math.round(box.top - top + box.height / 2);
    });
  const [left, right] = [middles('.apps > li'), middles('.servers > li')];
  return links.map((link) => {
    const from = left[link.from] ?? 0;
    const to = right[link.to] ?? 0;
    return { ...link, path: `M0 ${from}C${width / 2} ${from} ${width / 2} ${to} ${width} ${to}` };
  });
}
