// Optional: every page works without this script.
for (const time of document.querySelectorAll('time')) {
  const day = time.dataset.today ? {} : { dateStyle: 'medium' };
  time.textContent = new Date(time.dateTime).toLocaleString(undefined, { ...day, timeStyle: 'short' });
}

for (const button of document.querySelectorAll('[data-copy]')) {
  const field = document.getElementById(button.dataset.copy);
  button.hidden = false;
  field.addEventListener('focus', () => field.select());
  button.addEventListener('click', async () => {
    const isCopied = await copy(field);
    button.textContent = isCopied ? 'Copied' : 'Copy';
    document.getElementById(`${field.id}-fault`).hidden = isCopied;
  });
}

/**
 * Whether the text was copied: a text that is shown once must not be reported as copied if it was not. If not, it stays selected.
 */
async function copy(field) {
  try {
    await navigator.clipboard.writeText(field.value); // throws where it is unavailable, as over http
    return true;
  } catch {
    field.focus();
    field.select();
    return document.execCommand('copy');
  }
}

for (const left of document.querySelectorAll('[data-until]')) {
  const end = new Date(left.dataset.until);
  const show = () => {
    const seconds = Math.max(0, Math.round((end - Date.now()) / 1000));
    const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
    left.textContent = seconds > 0 ? `(${clock} left)` : '(expired: start again in the app)';
  };
  show();
  setInterval(show, 1000);
}

const app = document.querySelector('[data-open]');
if (app) location.assign(app.href);
