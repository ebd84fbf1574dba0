// Draws every icon from assets/keyturn.svg in Chromium, and packs those of Windows and macOS. The results
// are committed: run it after a change of the drawing (node scripts/icons.mjs), and look at them.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { chromium } from 'playwright';

const assets = path.join(import.meta.dirname, '..', 'assets');
const svg = readFileSync(path.join(assets, 'keyturn.svg'), 'utf8');

const trayShapes = ['fine', 'waiting', 'held', 'trouble'];
/** Pixels of a tray icon: what Linux panels and macOS show; both take a second one for dense screens. */
const traySize = 22;
const linuxSizes = [16, 24, 32, 48, 64, 128, 256, 512];
const windowsSizes = [16, 24, 32, 48, 64, 128, 256];
/** Apple's types of PNG entries. */
const macEntries = {
  icp4: 16,
  icp5: 32,
  ic11: 32,
  ic12: 64,
  ic07: 128,
  ic13: 256,
  ic08: 256,
  ic14: 512,
  ic09: 512,
  ic10: 1024,
};

/** An icon file of Windows: a table of PNG images. */
function ico(images) {
  const head = Buffer.alloc(6 + 16 * images.length);
  head.writeUInt16LE(1, 2);
  head.writeUInt16LE(images.length, 4);
  let offset = head.length;
  for (const [index, { size, png }] of images.entries()) {
    const at = 6 + 16 * index;
    // 0 stands for 256.
    head.writeUInt8(size % 256, at);
    head.writeUInt8(size % 256, at + 1);
    head.writeUInt16LE(1, at + 4);
    head.writeUInt16LE(32, at + 6);
    head.writeUInt32LE(png.length, at + 8);
    head.writeUInt32LE(offset, at + 12);
    offset += png.length;
  }
  return Buffer.concat([head, ...images.map(({ png }) => png)]);
}

/** An icon file of macOS: tagged PNG images. */
function icns(entries) {
  const chunk = (tag, body) => {
    const head = Buffer.alloc(8);
    head.write(tag, 0, 'latin1');
    head.writeUInt32BE(8 + body.length, 4);
    return Buffer.concat([head, body]);
  };
  return chunk('icns', Buffer.concat(entries.map(({ tag, png }) => chunk(tag, png))));
}

const browser = await chromium.launch({
  executablePath: process.env.KEYTURN_TEST_CHROMIUM ?? '/usr/bin/chromium-headless-shell',
  chromiumSandbox: false,
});
const page = await browser.newPage();

async function draw(look, color, size) {
  await page.setViewportSize({ width: size, height: size });
  await page.setContent(`<style>body { margin: 0 } svg { display: block; width: ${size}px }</style>${svg}`);
  await page.evaluate(
    ([name, paint]) => {
      const root = globalThis.document.querySelector('svg');
      root.setAttribute('class', name);
      root.style.color = paint;
    },
    [look, color],
  );
  return page.screenshot({ omitBackground: true });
}

for (const folder of ['tray', 'icons']) {
  rmSync(path.join(assets, folder), { recursive: true, force: true });
  mkdirSync(path.join(assets, folder));
}
for (const shape of trayShapes) {
  for (const [theme, color] of [
    ['Template', '#000'],
    ['White', '#fff'],
  ]) {
    writeFileSync(path.join(assets, 'tray', `${shape}${theme}.png`), await draw(shape, color, traySize));
    writeFileSync(
      path.join(assets, 'tray', `${shape}${theme}@2x.png`),
      await draw(shape, color, 2 * traySize),
    );
  }
}
for (const size of linuxSizes) {
  writeFileSync(path.join(assets, 'icons', `${size}x${size}.png`), await draw('app', '#fff', size));
}
const windows = [];
for (const size of windowsSizes) windows.push({ size, png: await draw('app', '#fff', size) });
writeFileSync(path.join(assets, 'keyturn.ico'), ico(windows));
const mac = [];
for (const [tag, size] of Object.entries(macEntries)) mac.push({ tag, png: await draw('app', '#fff', size) });
writeFileSync(path.join(assets, 'keyturn.icns'), icns(mac));
await browser.close();
