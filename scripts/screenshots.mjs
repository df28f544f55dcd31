// Retakes docs/screenshots: `npm run screenshots`. The tour in test/deep/browser visits every page of a real service in Chromium
// and takes the pictures; the picture of the demo shows its output in a terminal. Nothing is replaced when a step fails.
// Needs Chromium like the tests; retakes the picture of the demo only with Debian's Chromium or CHROMIUM=/path/to/it.
import './build-if-needed.mjs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const ROOT = join(import.meta.dirname, '..');
const FOLDER = join(ROOT, 'docs', 'screenshots');
const JEST = [
  '--max-semi-space-size=64',
  join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js'),
  '--maxWorkers=1',
];

/** The tours with JavaScript; a tour without it takes no pictures. */
const TOURS = ['browser/tour', '--testNamePattern=^the tour (?!without script)'];

/** The output of `npm run demo` in a terminal. The docs folder stands in for a user's notes. */
async function photographDemo(executablePath, directory, path) {
  const notes = join(directory, 'notes');
  await cp(join(ROOT, 'docs'), notes, { recursive: true, filter: (file) => file !== FOLDER });
  const demo = spawn(process.execPath, [join(ROOT, 'dist', 'examples', 'demo', 'main.js'), notes], {
    env: { ...process.env, DATA_DIR: join(directory, 'demo') },
    cwd: directory,
  });
  let output = '';
  demo.stdout.on('data', (chunk) => (output += chunk));
  const [status] = await once(demo, 'exit');
  if (status !== 0) throw new Error(`the demo exited with ${status}: ${output}`);
  const lines = output.replaceAll(notes, '~/notes').trim().split('\n');
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  const page = await browser.newPage({ viewport: { width: 1180, height: 100 } });
  await page.setContent(TERMINAL);
  await page.evaluate(
    (text) => (document.querySelector('pre').textContent = text),
    ['$ npm run demo -- ~/notes', '', ...lines].join('\n'),
  );
  await page.screenshot({ path, fullPage: true });
  await browser.close();
}

const TERMINAL = `<style>
  body { margin: 0; background: #1b1e27; }
  pre { margin: 28px 32px; color: #e6e8ee; font: 15px/1.55 'DejaVu Sans Mono', monospace; white-space: pre-wrap; }
</style><pre></pre>`;

const directory = await mkdtemp(join(tmpdir(), 'screenshots-'));
try {
  const pictures = join(directory, 'pictures');
  await mkdir(pictures);
  const chromiumPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  const demo = join(pictures, 'demo.png');
  if (existsSync(chromiumPath)) await photographDemo(chromiumPath, directory, demo);
  else await cp(join(FOLDER, 'demo.png'), demo); // an unpacked Chromium of the tests needs their environment
  const env = { ...process.env, SCREENSHOTS: pictures };
  const jest = spawn(process.execPath, [...JEST, ...TOURS], { cwd: ROOT, env, stdio: 'inherit' });
  const [status] = await once(jest, 'exit');
  if (status !== 0) throw new Error(`the tour ended with ${status}`);
  await rm(FOLDER, { recursive: true });
  await cp(pictures, FOLDER, { recursive: true });
} finally {
  await rm(directory, { recursive: true, force: true });
}
