import type { VNode } from 'preact';
import { encodeQR } from 'qr';
import { CopyField, Field, Hidden, Layout, Masthead } from '../layout/index.js';

interface SetUpProps {
  readonly host: string;
  readonly csrfToken: string;
  /** The `otpauth:` address of the new secret. */
  readonly uri: string;
  /** What is wrong with the entered code. */
  readonly fault?: string | undefined;
  readonly alert?: string | undefined;
}

/** Shows the new secret and asks for a first code, which proves that the app has it. */
export function factorSetUpPage({ host, csrfToken, uri, fault, alert }: SetUpProps): VNode {
  const secret = new URL(uri).searchParams.get('secret') ?? '';
  return (
    <Layout title="Set up the second factor">
      <Masthead host={host} />
      <h1>Set up the second factor</h1>
      {alert && (
        <p class="alert" role="alert">
          {alert}
        </p>
      )}
      <p>Scan this with an authenticator app on your phone.</p>
      <QrCode text={uri} />
      <div class="field">
        <label for="secret">Can you not scan it? Enter this key in the app.</label>
        <CopyField id="secret" value={secret} describedBy="secret-hint" />
        <p class="hint" id="secret-hint">
          It makes your codes. Give it to nobody.
        </p>
      </div>
      <form method="post" action="/account/factor/confirm" aria-label="Confirm the second factor">
        <Hidden fields={{ csrf_token: csrfToken, uri }} />
        <Field
          id="factor-code"
          name="code"
          label="Code that the app shows"
          type="text"
          inputMode="numeric"
          autocomplete="one-time-code"
          fault={fault}
          isFocused
        />
        <button type="submit">Turn on the second factor</button>
      </form>
      <p>
        <a href="/account">Cancel</a>
      </p>
    </Layout>
  );
}

/** Shows the backup codes, which are stored nowhere as they are. */
export function backupCodesPage({ host, codes }: { host: string; codes: readonly string[] }): VNode {
  return (
    <Layout title="Your backup codes">
      <Masthead host={host} />
      <h1>Your backup codes</h1>
      <p class="notice" role="status">
        The second factor is on. Save these ten codes now: they are not shown again.
      </p>
      <ul class="codes">
        {codes.map((code) => (
          <li key={code} class="code">
            {code}
          </li>
        ))}
      </ul>
      <p>
        Each works once, in place of a code from the app, for example when your phone is lost. Keep them on
        paper or in a password manager, not on the phone.
      </p>
      <a class="button" href="/account">
        I have saved them
      </a>
    </Layout>
  );
}

/** The quiet zone of a QR code, in modules. */
const QUIET = 4;

/** Drawn as one path: the pages' policy allows neither inline styles nor images from data. */
function QrCode({ text }: { readonly text: string }): VNode {
  const rows = encodeQR(text, 'raw', { border: QUIET });
  const path = rows
    .flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    .join('');
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${rows.length} ${rows.length}`}
      role="img"
      aria-label="QR code of the key below"
    >
      <rect width="100%" height="100%" fill="#fff" />
      <path d={path} fill="#000" shape-rendering="crispEdges" />
    </svg>
  );
}
