/** The layout of a page, measured: what is cut, covered or too small to hit, of what a user can see and reach. */
import type { Page } from 'playwright';

/** CSS pixels that a finger or a shaking hand needs (WCAG 2.2, 2.5.8). */
const minTarget = 24;

/** Runs in the page. Text, because what playwright makes of a function depends on how tests are compiled. */
const measure = `(() => {
  const faults = [];
  const dialogs = document.querySelectorAll('dialog[open]');
  const root = dialogs[dialogs.length - 1] ?? document.body;
  // What is far from the window keeps the layout of an earlier width until somebody scrolls there.
  for (const row of root.querySelectorAll('.cards > li, .rows > li, .picks > li')) row.style.contentVisibility = 'visible';
  const styles = new Map();
  const styleOf = (element) => {
    const known = styles.get(element) ?? getComputedStyle(element);
    styles.set(element, known);
    return known;
  };
  const nameOf = (element) => element.tagName.toLowerCase() +
    (element.getAttribute('class') ? '.' + element.getAttribute('class').replaceAll(' ', '.') : '') +
    ' "' + element.textContent.slice(0, 40) + '"';
  const fault = (kind, element, more = '') => faults.push(kind + ': ' + nameOf(element) + more);
  const above = function* (element) {
    for (let at = element; at && at !== document.documentElement; at = at.parentElement) yield at;
  };
  /** What only screen readers get. */
  const isUndrawn = (element) => [...above(element)].some((at) => styleOf(at).clipPath !== 'none');
  const isSeen = (element) =>
    element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && !isUndrawn(element);
  const hasTitle = (element) =>
    [...above(element)].some((at) => at.title) || element.querySelector('[title], title') !== null;
  const elements = [...root.querySelectorAll('*')].filter((element) => !element.closest('.announcement') && isSeen(element));

  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) faults.push('wider than the window: the page');
  for (const element of elements) {
    const style = styleOf(element);
    const { left, right, width } = element.getBoundingClientRect();
    const isScrolled = [...above(element.parentElement)].some((at) => ['auto', 'scroll'].includes(styleOf(at).overflowX));
    if (!element.closest('svg') && !isScrolled && width > 0 && (left < -0.5 || right > page.clientWidth + 0.5))
      fault('beside the window', element);
    if (element.closest('svg') || style.display === 'inline' || element.clientWidth === 0) continue;
    const isField = ['INPUT', 'SELECT', 'TEXTAREA'].includes(element.tagName);
    if (!isField && element.scrollWidth > element.clientWidth + 1) {
      if (style.overflowX === 'visible') fault('sticks out', element, ' by ' + (element.scrollWidth - element.clientWidth));
      else if (['hidden', 'clip'].includes(style.overflowX) && (style.textOverflow !== 'ellipsis' || !hasTitle(element)))
        fault('cut without a sign', element);
    }
    if (!isField && ['hidden', 'clip'].includes(style.overflowY) && element.scrollHeight > element.clientHeight + 1)
      if (!(style.webkitLineClamp !== 'none' && hasTitle(element))) fault('cut below', element);
  }

  const targets = elements.filter((element) =>
    element.matches('button, a[href], summary, select, input, textarea, [role=button], [role=tab]'));
  const boxOf = (element) =>
    (element.matches('[type=radio], [type=checkbox]') ? (element.closest('label') ?? element) : element)
      .getBoundingClientRect();
  for (const target of targets) {
    const { width, height } = boxOf(target);
    if (width < ${minTarget} - 0.5 || height < ${minTarget} - 0.5) fault('small', target, ' ' + width + ' x ' + height);
  }

  /** The part of a box that its scrolling or cutting ancestors let through. */
  const visiblePart = (box, element) => {
    let { left, right, top, bottom } = box;
    for (const at of above(element)) {
      const { overflowX, overflowY } = styleOf(at);
      if (overflowX === 'visible' && overflowY === 'visible') continue;
      const edge = at.getBoundingClientRect();
      left = Math.max(left, edge.left);
      right = Math.min(right, edge.right);
      top = Math.max(top, edge.top);
      bottom = Math.min(bottom, edge.bottom);
    }
    return { left, right, top, bottom };
  };
  /** What stays in its place while the rest scrolls lies over other things on purpose. */
  const layerOf = (element) =>
    [...above(element)].find((at) => ['sticky', 'fixed'].includes(styleOf(at).position)) ?? root;
  const boxes = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.data.trim() === '' || element.closest('.announcement, option, script, style') || !isSeen(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    // The box of a line is higher than its letters.
    for (const { left, right, top, bottom, height } of [...range.getClientRects()].slice(0, 60)) {
      const part = visiblePart({ left, right, top: top + height * 0.2, bottom: bottom - height * 0.2 }, element);
      boxes.push({ ...part, element, node, layer: layerOf(element) });
    }
  }
  for (const target of targets)
    boxes.push({ ...visiblePart(boxOf(target), target), element: target, node: target, layer: layerOf(target) });
  const drawn = boxes.filter(({ left, right, top, bottom }) => right - left > 1 && bottom - top > 1)
    .sort((one, other) => one.top - other.top);
  const told = new Set();
  drawn.forEach((one, index) => {
    for (let at = index + 1; at < drawn.length; at += 1) {
      const other = drawn[at];
      if (other.top >= one.bottom - 1.5) break;
      if (one.node === other.node || one.layer !== other.layer) continue;
      if (Math.min(one.right, other.right) - Math.max(one.left, other.left) < 1.5) continue;
      if (Math.min(one.bottom, other.bottom) - other.top < 1.5) continue;
      const holder = (box) => box.element.closest('label') ?? box.element;
      if (holder(one).contains(other.element) || holder(other).contains(one.element)) continue;
      const pair = nameOf(one.element) + ' and ' + nameOf(other.element);
      if (!told.has(pair)) faults.push('one on the other: ' + pair);
      told.add(pair);
    }
  });
  return faults;
})()`;

/** What is wrong with the layout as it stands, as sentences. */
export const layoutFaults = (page: Page): Promise<string[]> => page.evaluate<string[]>(measure);
