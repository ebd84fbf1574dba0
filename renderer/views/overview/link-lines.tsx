/**
 * The lines between apps and servers.
 *
 * Invariant: for the eye only. Each node says in words what it is connected with.
 */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Link } from './graph.ts';

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

export function LinkLines({ links, hot }: LinkLinesProps) {
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
