import { writeFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { asPalette } from './palette.js';

/** Takes a picture of the whole page, with everything masked that differs between runs. */
export async function savePicture(page: Page, path: string): Promise<void> {
  await page.evaluate(steady);
  const png = await page.screenshot({ fullPage: true, animations: 'disabled', caret: 'hide' });
  await writeFile(path, asPalette(png));
}

/** Replaces what differs in each run: times, secrets, numbers of requests, ports. Runs in the page. */
function steady(): void {
  for (const time of document.querySelectorAll('time'))
    time.textContent = time.dataset.today ? '09:03' : '2 Mar 2026, 09:00';
  for (const left of document.querySelectorAll('[data-until]')) left.textContent = '(2:57 left)';
  document.querySelectorAll('.codes li').forEach((code, at) => (code.textContent = `${at}k7Qw-p2Xv${at}`));
  const secrets = document.querySelectorAll<HTMLInputElement>(
    '#link, #secret, #new-token, main #new-password[readonly]',
  );
  for (const field of secrets)
    field.value = field.value.replace(/[\w-]{20,}/g, (secret) =>
      'k7Qwp2XvN9'.repeat(5).slice(0, secret.length),
    );
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode())
    text.nodeValue = (text.nodeValue ?? '')
      .replace(/Wait \d+ seconds?/, 'Wait 40 seconds')
      .replace(/127\.0\.0\.1:\d+/g, 'login.example.org')
      .replace(
        /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g,
        '0195f0c2-7d5e-7a31-9b1e-2f6c8d4e5a70',
      );
}
