import type { VNode } from 'preact';
import { assetPath, PASSKEY_SCRIPT } from './page-assets.js';

/** Signs in with a passkey, and then opens `returnTo`. Shown by the script, where the browser has passkeys; without one, says so. */
export function PasskeyButton({ returnTo }: { readonly returnTo: string }): VNode {
  return (
    <>
      <div class="passkey" data-passkey hidden>
        <p class="fault" role="alert" data-passkey-fault hidden />
        <button type="button" class="quiet" data-passkey-sign-in={returnTo}>
          Sign in with a passkey
        </button>
        <PasskeyScript />
      </div>
      <p class="hint" data-without-script>
        Signing in with a passkey needs JavaScript.
      </p>
    </>
  );
}

/** What makes passkeys work on a page. Without it everything for them stays hidden. */
export function PasskeyScript(): VNode {
  return <script src={assetPath(PASSKEY_SCRIPT)} defer />;
}
