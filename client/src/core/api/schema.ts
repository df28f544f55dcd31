// Made from docs/openapi.json: `npm run openapi`.

export interface paths {
  '/api/assets': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Upload an asset */
    post: operations['assets.upload'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/assets/batch-delete': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Delete up to 1,000 assets */
    post: operations['assets.deleteMany'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/assets/import': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Import assets (always refused)
     * @description The service has no local file system to import from.
     */
    post: operations['assets.import'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/assets/list': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** List the assets, newest first */
    get: operations['assets.list'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/assets/usage': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the storage used by the assets of the account */
    get: operations['assets.getUsage'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/assets/{token}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Download an asset */
    get: operations['assets.download'];
    put?: never;
    post?: never;
    /**
     * Delete an asset
     * @description Succeeds even if the asset does not exist.
     */
    delete: operations['assets.delete'];
    options?: never;
    head?: never;
    /** Rename an asset */
    patch: operations['assets.rename'];
    trace?: never;
  };
  '/api/auth/change-password': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Change the password and revoke all other sessions */
    post: operations['identity.changePassword'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/get-session': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the session and extend it */
    get: operations['identity.getSession'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/jwks': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the public keys of service JWTs */
    get: operations['identity.getPublicKeys'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/list-sessions': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** List the live sessions of the user, at most 100 */
    get: operations['identity.listSessions'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/one-time-token/generate': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Create a one-time token of the session, valid for 3 minutes */
    get: operations['identity.createOneTimeToken'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/one-time-token/verify': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Exchange a one-time token for its session
     * @description A token works once.
     */
    post: operations['identity.verifyOneTimeToken'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/passkey/delete-passkey': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Remove a passkey */
    post: operations['factors.removePasskey'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/passkey/generate-authenticate-options': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Begin to sign in with a passkey */
    get: operations['factors.beginPasskeySignIn'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/passkey/generate-register-options': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Begin to add a passkey */
    get: operations['factors.beginPasskey'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/passkey/list-user-passkeys': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** List the passkeys of the user */
    get: operations['factors.listPasskeys'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/passkey/update-passkey': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Rename a passkey */
    post: operations['factors.renamePasskey'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/passkey/verify-authentication': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Sign in with a passkey
     * @description Replaces the password and the second factor: the authenticator has verified the user.
     */
    post: operations['factors.signInWithPasskey'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/passkey/verify-registration': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Add a passkey */
    post: operations['factors.addPasskey'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/request-password-reset': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Have a link for a new password sent
     * @description The answer is the same whether or not the address has an account. Exists only where the service can send mail.
     */
    post: operations['identity.requestPasswordReset'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/reset-password': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Choose a new password by a link and revoke all sessions
     * @description The token is that of the link. It works once. Exists only where the service can send mail.
     */
    post: operations['identity.resetPassword'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/revoke-other-sessions': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Revoke the other sessions of the user */
    post: operations['identity.revokeOtherSessions'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/revoke-session': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Revoke a session of the user
     * @description `token` is the one that `list-sessions` shows.
     */
    post: operations['identity.revokeSession'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/send-verification-email': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Have another link to confirm the address sent
     * @description The answer is the same whether or not the address has an account that waits for it. Exists only where the service can send mail.
     */
    post: operations['identity.sendVerificationEmail'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/sign-in/email': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Sign in with email and password */
    post: operations['identity.signIn'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/sign-out': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Sign out */
    post: operations['identity.signOut'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/sign-up/email': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Create an account with email and password */
    post: operations['identity.signUp'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/token': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get a service JWT for the session, valid for 15 minutes while the session lasts */
    get: operations['identity.getToken'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/two-factor/disable': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Turn the second factor off */
    post: operations['factors.removeSecondFactor'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/two-factor/enable': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Begin to set up the second factor
     * @description The factor is on once `two-factor/verify-totp` has accepted a first code.
     */
    post: operations['factors.beginSecondFactor'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/two-factor/generate-backup-codes': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Replace the backup codes */
    post: operations['factors.replaceBackupCodes'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/two-factor/verify-backup-code': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Enter a backup code
     * @description Without a session, completes the sign-in that `sign-in/email` answered with `twoFactorRedirect`; its cookie must be sent back. With a session, counts as a recent sign-in. A code works once.
     */
    post: operations['factors.enterBackupCode'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/two-factor/verify-totp': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Enter a code of the authenticator app
     * @description Without a session, completes the sign-in that `sign-in/email` answered with `twoFactorRedirect`; its cookie must be sent back. With a session, finishes the set-up of the factor, or counts as a recent sign-in.
     */
    post: operations['factors.enterCode'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/auth/update-user': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Change the name or picture of the user */
    post: operations['identity.updateUser'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/auth/dev-login': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Get a service JWT for any email
     * @description For tests and development. Creates the user if it does not exist.
     */
    post: operations['auth.devLogin'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/auth/me': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the user of the token */
    get: operations['auth.me'];
    put?: never;
    post?: never;
    /**
     * Delete the account and all its data
     * @description Deletes its workspaces, files, assets, devices and tokens too. This cannot be undone.
     */
    delete: operations['auth.deleteMe'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/auth/me/export': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Export everything that the service holds of the account
     * @description A tar with the account, its devices, tokens and sessions without secrets, and all workspaces: files, versions, changes, checkpoints and attachments as ciphertext. An export that was cut off lacks `manifest.json`, its last file. docs/reference/export-format.md has the format.
     */
    get: operations['auth.download'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/auth/tokens': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the personal access tokens, newest first
     * @description Of the revoked and expired tokens, the newest 10,000 are listed too. The token secrets are never returned.
     */
    get: operations['accessTokens.list'];
    put?: never;
    /**
     * Create a personal access token
     * @description The default scope is `full`. With a workspace, the token can access only that workspace.
     */
    post: operations['accessTokens.create'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/auth/tokens/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Revoke a personal access token
     * @description The token stops working at once, and the WebSockets that it opened are closed. It stays in the list.
     */
    delete: operations['accessTokens.revoke'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/automation/workspaces/{id}/checkpoints': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** List the checkpoints with their labels, highest cursor first */
    get: operations['automation.listCheckpoints'];
    put?: never;
    /** Create a checkpoint at the head of the change log, with a label in plaintext */
    post: operations['automation.createCheckpoint'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/automation/workspaces/{id}/checkpoints/{cpId}/summary': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Summarise the changes up to a checkpoint, with paths in plaintext */
    get: operations['automation.getCheckpointSummary'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/automation/workspaces/{id}/history/{path}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** List the versions of a note, or get one with its content */
    get: operations['automation.getHistory'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/automation/workspaces/{id}/key-sessions': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Open a key session
     * @description Takes exactly one of `password`, `recoveryKey` and `key`, the master key in base64. The password is tried on the password slots of the workspace or, if it has none, derives the master key. The recovery key may be typed with or without hyphens, in either case. While the session is open, the service can read the workspace. The session ends 15 minutes after its last use, and after 8 hours at most.
     */
    post: operations['automation.openKeySession'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/automation/workspaces/{id}/key-sessions/current': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /** End the key session */
    delete: operations['automation.endKeySession'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/automation/workspaces/{id}/metadata': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get the salts and key derivation parameters of a workspace
     * @description A token to which `assets:read` was granted by name needs no subscription.
     */
    get: operations['automation.getMetadata'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/automation/workspaces/{id}/notes': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the notes in order of creation
     * @description With a prefix, a page can be short or even empty. Continue while `hasMore` is true.
     */
    get: operations['automation.listNotes'];
    put?: never;
    /** Create a note */
    post: operations['automation.createNote'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/automation/workspaces/{id}/notes/{path}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get a note */
    get: operations['automation.getNote'];
    /** Replace the content of a note */
    put: operations['automation.updateNote'];
    post?: never;
    /** Delete a note and keep its history */
    delete: operations['automation.deleteNote'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/automation/workspaces/{id}/restore/{path}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Restore an old version of a note as the newest */
    post: operations['automation.restoreNote'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/automation/workspaces/{id}/search': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Search the notes */
    get: operations['automation.searchNotes'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/devices': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** List the registered devices */
    get: operations['devices.list'];
    put?: never;
    /**
     * Register a device
     * @description Its id can be used as `X-Device-Id`. A device that is not registered can sync too.
     */
    post: operations['devices.register'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/devices/push-subscription': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Subscribe a device of a workspace to Web Push
     * @description A second subscription of the same device replaces the first.
     */
    post: operations['devices.subscribe'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/devices/push-subscription/{workspaceId}/{deviceId}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Delete the push subscription of a device
     * @description Succeeds even if the device has no subscription.
     */
    delete: operations['devices.unsubscribe'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/devices/vapid-public-key': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the public key for Web Push subscriptions */
    get: operations['devices.getVapidPublicKey'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/devices/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /** Delete a device and its push subscriptions */
    delete: operations['devices.delete'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/subscription': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the subscription */
    get: operations['subscription.get'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/subscription/checkout-url': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Get a URL for buying a subscription */
    post: operations['subscription.createCheckoutUrl'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/subscription/portal-url': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the URL of the billing portal */
    get: operations['subscription.getPortalUrl'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/subscription/trial': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Start the 30-day free trial
     * @description Each user can start the trial once, from the free plan. During the trial, the route returns the same answer again.
     */
    post: operations['subscription.startTrial'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/usage': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get the storage use and quotas of the account
     * @description Documents count the bytes of all versions that are kept, each blob once. `files` counts live files. A token that is bound to a workspace gets only that workspace, and the totals of the account.
     */
    get: operations['usage.get'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/webhooks/payment': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Receive an event of the payment provider
     * @description Each event counts once, and events can arrive in any order. Types: `customer.subscription.created`, `.updated`, `.deleted`, `invoice.payment_failed`. Events of any other type, and events of unknown customers, change nothing.
     */
    post: operations['subscription.receivePaymentEvent'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the workspaces
     * @description A token that is bound to a workspace gets only that workspace.
     */
    get: operations['workspaces.list'];
    put?: never;
    /** Create a workspace */
    post: operations['workspaces.create'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get a workspace */
    get: operations['workspaces.get'];
    put?: never;
    post?: never;
    /**
     * Delete a workspace with all files, versions and assets
     * @description The workspace is 404 from now on. Its data is deleted in the background.
     */
    delete: operations['workspaces.delete'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/checkpoints': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** List the checkpoints, highest cursor first */
    get: operations['checkpoints.list'];
    put?: never;
    /** Create a checkpoint at the head of the change log */
    post: operations['checkpoints.create'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/checkpoints/{cpId}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Delete a checkpoint
     * @description Deletes only the marker. The change log and all versions stay.
     */
    delete: operations['checkpoints.delete'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/checkpoints/{cpId}/note-state': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the version of a path at a checkpoint */
    get: operations['checkpoints.getNoteState'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/checkpoints/{cpId}/restore-manifest': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the operations that restore every path to a checkpoint */
    get: operations['checkpoints.getRestoreManifest'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/checkpoints/{cpId}/summary': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Summarise the changes up to a checkpoint */
    get: operations['checkpoints.getSummary'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/files': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** List the live files */
    get: operations['files.list'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/files/batch-download': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Download many files
     * @description The answer is a CBOR sequence (RFC 8742) of maps, one for each item, in order: `{ encryptedPath, status, version, contentHash, encryptedSize, content? }`. `status` is 200; 304 when `contentHash` of the item is the current one; or 404, with nulls. `content` is a byte string. It is missing with 304, when the file has more than 1 MiB (download it alone), and when the contents of the answer would exceed 32 MiB or it takes more than a minute (ask again). An answer with fewer maps than items was cut off.
     */
    post: operations['files.batchDownload'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/files/batch-upload': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Upload many files
     * @description The body is a CBOR sequence (RFC 8742) of maps with definite lengths: `{ encryptedPath, contentHash, content, ifMatch?, ifNoneMatch? }`, at most 1,000, with at most 1 MiB of `content` (a byte string) each and 32 MiB in all, and 16 KiB besides the content of each. No item may be larger than a PUT. Each item is decided as a PUT of that file: `contentHash` is the SHA-256 of the content in hex, `ifMatch` is a content hash or `*`, `ifNoneMatch` is `*`. Items are committed in groups, in order, before the answer; a refused item leaves the others. A batch that breaks off or is answered with an error keeps the groups that were committed, and can be sent again: what is stored already changes nothing.
     */
    post: operations['files.batchUpload'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/files/{encPath}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Download the content of a live file */
    get: operations['files.download'];
    /**
     * Upload the content of a file
     * @description Creates a version and a change. Uploading the current content of a live file creates neither, so an upload can be repeated. A deleted file becomes live again.
     */
    put: operations['files.upload'];
    post?: never;
    /** Delete a file and keep its versions */
    delete: operations['files.delete'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/files/{encPath}/restore/{vid}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Restore an old version of a file as the newest
     * @description Creates exactly one new version, which shares the bytes of the old one. A deleted file becomes live again.
     */
    post: operations['versions.restore'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/files/{encPath}/versions': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the versions of a file, newest first
     * @description The versions of deleted files are listed too. Old versions are thinned out over time.
     */
    get: operations['versions.list'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/files/{encPath}/versions/{vid}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Download a version */
    get: operations['versions.download'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/key-slots': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the key slots and the salts of a workspace
     * @description Each slot holds the master key, encrypted under a password, a recovery key or a passkey. Oldest first. The salts are null until encryption is set up.
     */
    get: operations['keySlots.list'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/key-slots/{slotId}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    /**
     * Create or replace a key slot
     * @description The body proves knowledge of the master key: a token alone neither adds nor removes a slot. At most 10 writes a minute per workspace.
     */
    put: operations['keySlots.put'];
    post?: never;
    /**
     * Delete a key slot
     * @description The body proves knowledge of the master key: a token alone neither adds nor removes a slot. At most 10 writes a minute per workspace.
     */
    delete: operations['keySlots.delete'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/setup-encryption': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Set up the end-to-end encryption
     * @description This works once. The service compares the hash to learn whether a client knows the master key, which other devices take from a key slot.
     */
    post: operations['workspaces.setUpEncryption'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/sync/pull': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * List the changes after a cursor, oldest first
     * @description `limit` is 1 to 1000; the default is 100. While `hasMore` is true, pull again with the returned cursor.
     */
    post: operations['sync.pull'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/sync/push': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Push deletions
     * @description All rows are processed in one transaction. `action` is `delete`. Content is uploaded file by file with PUT.
     */
    post: operations['sync.push'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/sync/snapshot': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get a page of the snapshot of live files
     * @description Keep only the `cursor` of the first page, and pull from it after the last page.
     */
    get: operations['sync.getSnapshot'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/sync/status': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the head of the change log */
    get: operations['sync.getStatus'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/trash': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the deleted files
     * @description Their versions can be listed, downloaded and restored like those of live files.
     */
    get: operations['files.listTrash'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/verify-password': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Check a verification hash
     * @description At most 10 times a minute per workspace. Before the encryption is set up, no hash is valid.
     */
    post: operations['workspaces.verifyPassword'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/v1/workspaces/{id}/ws': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Open the live room of a workspace (WebSocket)
     * @description The request is a WebSocket upgrade. The bearer token is in the Authorization header, or in the query, because browsers cannot set headers here; where there are both, the header counts. Frames are JSON texts of at most 64 KiB. The client sends `hello` with `cursor` and `deviceId`, and `ping`. The service sends `welcome`, `changes`, `assets-changed`, `device_connected`, `device_disconnected`, `pong` and `error`. A refusal is an HTTP answer before the upgrade.
     */
    get: operations['liveRoom.open'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/health': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Check liveness */
    get: operations['service.getHealth'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/health/ready': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Check readiness */
    get: operations['service.getReadiness'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/openapi.json': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get this document */
    get: operations['service.getApiDocument'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    /** AccessToken */
    AccessToken: {
      /** Format: uuid */
      id: string;
      name: string;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      last_used_at: string | null;
      /** Format: date-time */
      expires_at: string | null;
      /** Format: date-time */
      revoked_at: string | null;
      scopes: (
        'full' | 'documents:read' | 'documents:write' | 'agent:invoke' | 'assets:read' | 'assets:write'
      )[];
      /** Format: uuid */
      workspace_id: string | null;
    };
    /** ApiError */
    ApiError: {
      error: string;
    };
    /** Asset */
    Asset: {
      encryptedFilename: string;
      sizeBytes: number;
      uploadedAt: number;
    };
    /** AssetUsage */
    AssetUsage: {
      usedBytes: number;
      quotaBytes: number;
      /** @enum {unknown} */
      plan: 'free' | 'pro';
      addonBytes: number;
      locked: boolean;
    };
    /** BatchDownloadRequest */
    BatchDownloadRequest: {
      items: components['schemas']['DownloadItem'][];
    };
    /** BatchUploadResult */
    BatchUploadResult: {
      encryptedPath: string | null;
      status: number;
      /** Format: uuid */
      id: string | null;
      version: number | null;
      contentHash: string | null;
      error?: string;
    };
    /** Change */
    Change: {
      encryptedPath: string;
      /** @enum {unknown} */
      action: 'upsert' | 'delete';
      contentHash: string;
      encryptedSize: number;
      version: number;
      /** Format: date-time */
      changedAt: string;
      changedByDevice: string | null;
    };
    /** Checkpoint */
    Checkpoint: {
      /** Format: uuid */
      id: string;
      encryptedLabel: string;
      /** @enum {unknown} */
      kind: 'manual' | 'auto';
      cursor: number;
      /** @description `YYYY-MM-DD HH:MM:SS`, UTC */
      createdAt: string;
    };
    /** CreateCheckpointRequest */
    CreateCheckpointRequest: {
      encryptedLabel: string;
      /** @enum {string} */
      kind: 'manual' | 'auto';
    };
    /** CreateDeviceRequest */
    CreateDeviceRequest: {
      name: string;
      platform: string;
    };
    /** CreateNoteCheckpointRequest */
    CreateNoteCheckpointRequest: {
      /** @description up to 6,083 bytes of UTF-8 */
      label: string;
    };
    /** CreateWorkspaceRequest */
    CreateWorkspaceRequest: {
      name: string;
    };
    /** CreatedCheckpoint */
    CreatedCheckpoint: {
      /** Format: uuid */
      id: string;
      encryptedLabel: string;
      /** @enum {unknown} */
      kind: 'manual' | 'auto';
      cursor: number;
      /** @description `YYYY-MM-DD HH:MM:SS`, UTC */
      createdAt: string;
      /** Format: uuid */
      workspaceId: string;
    };
    /** CreatedDevice */
    CreatedDevice: {
      /** Format: uuid */
      id: string;
      /** Format: uuid */
      userId: string;
      name: string;
      platform: string;
    };
    /** CreatedWorkspace */
    CreatedWorkspace: {
      /** Format: uuid */
      id: string;
      /** Format: uuid */
      userId: string;
      name: string;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      updatedAt: string;
    };
    /** DeleteAccountRequest */
    DeleteAccountRequest: {
      confirm: string;
    };
    /** DeleteAssetsRequest */
    DeleteAssetsRequest: {
      tokens: string[];
    };
    /** DeleteKeySlotRequest */
    DeleteKeySlotRequest: {
      verificationHash: string;
    };
    /** DeletedAsset */
    DeletedAsset: {
      token: string;
      deleted: boolean;
    };
    /** DevLoginRequest */
    DevLoginRequest: {
      email: string;
      name: string;
    };
    /** Device */
    Device: {
      /** Format: uuid */
      id: string;
      name: string;
      platform: string;
      /** Format: date-time */
      last_seen_at: string | null;
      /** Format: date-time */
      created_at: string;
    };
    /** DocumentUsage */
    DocumentUsage: {
      usedBytes: number;
      /** @description 0 means unlimited. */
      quotaBytes: number;
      workspaces: components['schemas']['WorkspaceUsage'][];
    };
    /** DownloadItem */
    DownloadItem: {
      encryptedPath: string;
      contentHash?: string | null;
    };
    /** IdentityError */
    IdentityError: {
      message: string;
      code?: string;
    };
    /** IdentitySession */
    IdentitySession: {
      /** Format: uuid */
      id: string;
      /** Format: uuid */
      userId: string;
      token: string;
      /** Format: date-time */
      expiresAt: string;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      updatedAt: string;
      ipAddress: string | null;
      userAgent: string | null;
    };
    /** IdentityUser */
    IdentityUser: {
      /** Format: uuid */
      id: string;
      name: string;
      email: string;
      emailVerified: boolean;
      image: string | null;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      updatedAt: string;
      twoFactorEnabled: boolean;
    };
    /** KeySlot */
    KeySlot: {
      /** Format: uuid */
      id: string;
      /** @enum {unknown} */
      kind: 'password' | 'recovery' | 'passkey';
      label: string | null;
      kdf: {
        [key: string]: unknown;
      };
      wrappedKey: string;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      updatedAt: string;
    };
    /** KeySlots */
    KeySlots: {
      encryptionSalt: string | null;
      verificationSalt: string | null;
      slots: components['schemas']['KeySlot'][];
    };
    /** ListedFile */
    ListedFile: {
      /** Format: uuid */
      id: string;
      encrypted_path: string;
      content_hash: string;
      encrypted_size: number;
      version: number;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
    };
    /** ListedNote */
    ListedNote: {
      path: string | null;
      version: number;
      contentHash: string;
      /** Format: date-time */
      updatedAt: string;
      size: number;
    };
    /** ManifestEntry */
    ManifestEntry: {
      encryptedPath: string;
      /** @enum {unknown} */
      op: 'restore' | 'delete' | 'noop';
      /** Format: uuid */
      beforeVersionId: string | null;
      /** Format: uuid */
      afterVersionId: string | null;
    };
    /** MintTokenRequest */
    MintTokenRequest: {
      name: string;
      /** @description ISO 8601: a date, or a date with a time */
      expiresAt?: string | null;
      scopes?:
        | ('full' | 'documents:read' | 'documents:write' | 'agent:invoke' | 'assets:read' | 'assets:write')[]
        | null;
      /** Format: uuid */
      workspaceId?: string | null;
    };
    /** MintedAccessToken */
    MintedAccessToken: {
      /** Format: uuid */
      id: string;
      name: string;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      last_used_at: string | null;
      /** Format: date-time */
      expires_at: string | null;
      /** Format: date-time */
      revoked_at: string | null;
      scopes: (
        'full' | 'documents:read' | 'documents:write' | 'agent:invoke' | 'assets:read' | 'assets:write'
      )[];
      /** Format: uuid */
      workspace_id: string | null;
      token: string;
    };
    /** NotReady */
    NotReady: {
      error: string;
      ready: boolean;
      /** @enum {unknown} */
      database: 'ok' | 'away';
      /** @enum {unknown} */
      blobs: 'ok' | 'away';
      /** @enum {unknown} */
      migrations: 'ok' | 'behind' | 'ahead' | 'unknown';
    };
    /** Note */
    Note: {
      path: string;
      version: number;
      contentHash: string;
      /** Format: date-time */
      updatedAt: string;
    };
    /** NoteCheckpoint */
    NoteCheckpoint: {
      /** Format: uuid */
      id: string;
      label: string | null;
      /** @enum {unknown} */
      kind: 'manual' | 'auto';
      cursor: number;
      /** @description `YYYY-MM-DD HH:MM:SS`, UTC */
      createdAt: string;
    };
    /** NoteVersion */
    NoteVersion: {
      /** Format: uuid */
      versionId: string;
      version: number;
      size: number;
      contentHash: string;
      deviceId: string | null;
      /** Format: date-time */
      createdAt: string;
      changeCursor: number | null;
    };
    /** NoteVersionContent */
    NoteVersionContent: {
      path: string;
      content: string;
      version: number;
      contentHash: string;
      /** Format: date-time */
      createdAt: string;
    };
    /** NoteWithContent */
    NoteWithContent: {
      path: string;
      version: number;
      contentHash: string;
      /** Format: date-time */
      updatedAt: string;
      content: string;
    };
    /** Ok */
    Ok: {
      /** @constant */
      ok: true;
    };
    /** OpenKeySessionRequest */
    OpenKeySessionRequest: {
      password?: string | null;
      recoveryKey?: string | null;
      key?: string | null;
    };
    /** Passkey */
    Passkey: {
      /** Format: uuid */
      id: string;
      /** Format: uuid */
      userId: string;
      name: string | null;
      publicKey: string;
      credentialID: string;
      counter: number;
      deviceType: string;
      backedUp: boolean;
      transports: string | null;
      /** Format: date-time */
      createdAt: string;
      aaguid: string | null;
    };
    /** PublicKey */
    PublicKey: {
      /** @enum {unknown} */
      alg: 'RS256';
      /** @enum {unknown} */
      kty: 'RSA';
      e: string;
      n: string;
      kid: string;
    };
    /** PullRequest */
    PullRequest: {
      deviceId: string;
      cursor: number;
      limit?: number | null;
    };
    /** PushConflict */
    PushConflict: {
      encryptedPath: string;
      serverVersion: number;
      serverContentHash: string;
    };
    /** PushRequest */
    PushRequest: {
      changes: components['schemas']['PushedChange'][];
      deviceId: string;
      baseCursor: number;
    };
    /** PushedChange */
    PushedChange: {
      encryptedPath: string;
      action: string;
      contentHash?: string | null;
      encryptedSize?: number | null;
    };
    /** PutKeySlotRequest */
    PutKeySlotRequest: {
      /** @enum {string} */
      kind: 'password' | 'recovery' | 'passkey';
      label?: string | null;
      kdf: unknown;
      wrappedKey: unknown;
      verificationHash: string;
    };
    /** Readiness */
    Readiness: {
      ready: boolean;
      /** @enum {unknown} */
      database: 'ok' | 'away';
      /** @enum {unknown} */
      blobs: 'ok' | 'away';
      /** @enum {unknown} */
      migrations: 'ok' | 'behind' | 'ahead' | 'unknown';
    };
    /** RenameAssetRequest */
    RenameAssetRequest: {
      newEncryptedFilename: string;
    };
    /** RestoreNoteRequest */
    RestoreNoteRequest: {
      versionId: string;
    };
    /** RestoredFile */
    RestoredFile: {
      /** Format: uuid */
      id: string;
      version: number;
      contentHash: string;
      encryptedSize: number;
    };
    /** SecondFactorNeeded */
    SecondFactorNeeded: {
      /** @constant */
      twoFactorRedirect: true;
      twoFactorMethods: 'totp'[];
    };
    /** SetupEncryptionRequest */
    SetupEncryptionRequest: {
      encryptionSalt: string;
      verificationHash: string;
      verificationSalt: string;
    };
    /** SnapshotFile */
    SnapshotFile: {
      /** Format: uuid */
      id: string;
      encryptedPath: string;
      contentHash: string;
      encryptedSize: number;
      version: number;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      updatedAt: string;
    };
    /** SubscribeRequest */
    SubscribeRequest: {
      /** Format: uuid */
      workspaceId: string;
      deviceId: string;
      /**
       * Format: uri
       * @description an https URL outside private networks
       */
      endpoint: string;
      keys: {
        /** @description 65 bytes in base64url */
        p256dh: string;
        /** @description 16 bytes in base64url */
        auth: string;
      };
    };
    /** Subscription */
    Subscription: {
      plan: string;
      /** @enum {unknown} */
      status: 'free' | 'trial' | 'active' | 'past_due' | 'cancelled' | 'expired';
      /** Format: date-time */
      trialStartDate: string | null;
      /** Format: date-time */
      trialEndDate: string | null;
      /** Format: date-time */
      currentPeriodEnd: string | null;
      cancelAtPeriodEnd: boolean;
    };
    /** SummaryEntry */
    SummaryEntry: {
      encryptedPath: string;
      /** @enum {unknown} */
      action: 'created' | 'modified' | 'deleted';
      changeCount: number;
      latestVersion: number;
    };
    /** TrashedFile */
    TrashedFile: {
      /** Format: uuid */
      id: string;
      encrypted_path: string;
      content_hash: string;
      encrypted_size: number;
      version: number;
      /** Format: date-time */
      deleted_at: string;
    };
    /** UploadAsset */
    UploadAsset: {
      /** @description The encrypted file name, which is the token of the asset. `list` and `usage` are refused because they are routes. */
      encryptedFilename: string;
      /** @description The envelope in standard base64. Its size is 61 bytes to 25 MiB plus 61 bytes. */
      data: string;
    };
    /** UploadedFile */
    UploadedFile: {
      /** Format: uuid */
      id: string;
      /** Format: uuid */
      workspaceId: string;
      encryptedPath: string;
      contentHash: string;
      encryptedSize: number;
      version: number;
    };
    /** User */
    User: {
      /** Format: uuid */
      id: string;
      email: string;
      name: string;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
    };
    /** VerifyPasswordRequest */
    VerifyPasswordRequest: {
      verificationHash: string;
    };
    /** Version */
    Version: {
      /** Format: uuid */
      id: string;
      version: number;
      content_hash: string;
      encrypted_size: number;
      device_id: string | null;
      /** Format: date-time */
      created_at: string;
      changeCursor: number | null;
    };
    /** Workspace */
    Workspace: {
      /** Format: uuid */
      id: string;
      /** Format: uuid */
      user_id: string;
      name: string;
      encryption_salt: string | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
    };
    /** WorkspaceUsage */
    WorkspaceUsage: {
      /** Format: uuid */
      id: string;
      usedBytes: number;
      files: number;
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: {
    /** @description Identifies the request in the log. */
    'X-Request-Id': string;
    /** @description Seconds to wait before the next try. */
    'Retry-After': string;
    /** @description `Bearer` */
    'WWW-Authenticate': 'Bearer';
  };
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  'assets.upload': {
    parameters: {
      query?: {
        /** @description The workspace. `workspaceId`, `X-Workspace-Id` or both must name it. */
        workspaceId?: string;
      };
      header?: {
        /** @description The workspace. `workspaceId`, `X-Workspace-Id` or both must name it. */
        'X-Workspace-Id'?: string;
        /** @description Within 24 hours, the upload can be repeated with the same key and token. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['UploadAsset'];
      };
    };
    responses: {
      /** @description the token of the asset */
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': string;
        };
      };
      /** @description no workspace is named, or two different ones are; the body or Idempotency-Key is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token is taken, or the Idempotency-Key has already been used for another token */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the quota is used up, or the account is locked */
      507: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            error: string;
            /** @enum {unknown} */
            code: 'STORAGE_QUOTA_EXCEEDED';
            details: {
              usedBytes: number;
              quotaBytes: number;
              requestedBytes: number;
              locked: boolean;
            };
          };
        };
      };
    };
  };
  'assets.deleteMany': {
    parameters: {
      query?: {
        /** @description The workspace. `workspaceId`, `X-Workspace-Id` or both must name it. */
        workspaceId?: string;
      };
      header?: {
        /** @description The workspace. `workspaceId`, `X-Workspace-Id` or both must name it. */
        'X-Workspace-Id'?: string;
      };
      path?: never;
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        'application/json': components['schemas']['DeleteAssetsRequest'];
      };
    };
    responses: {
      /** @description the result for each token, in the order of the request */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            results: components['schemas']['DeletedAsset'][];
          };
        };
      };
      /** @description no workspace is named, or two different ones are; the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'assets.import': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description assets cannot be imported here */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'assets.list': {
    parameters: {
      query?: {
        /** @description The workspace. `workspaceId`, `X-Workspace-Id` or both must name it. */
        workspaceId?: string;
      };
      header?: {
        /** @description The workspace. `workspaceId`, `X-Workspace-Id` or both must name it. */
        'X-Workspace-Id'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description all assets */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Asset'][];
        };
      };
      /** @description no workspace is named, or two different ones are */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'assets.getUsage': {
    parameters: {
      query?: {
        /** @description The workspace. `workspaceId`, `X-Workspace-Id` or both must name it. */
        workspaceId?: string;
      };
      header?: {
        /** @description The workspace. `workspaceId`, `X-Workspace-Id` or both must name it. */
        'X-Workspace-Id'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the usage of all workspaces together */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['AssetUsage'];
        };
      };
      /** @description no workspace is named, or two different ones are */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'assets.download': {
    parameters: {
      query?: {
        /** @description The workspace. `workspaceId`, `X-Workspace-Id` or both must name it. */
        workspaceId?: string;
      };
      header?: {
        /** @description The workspace. `workspaceId`, `X-Workspace-Id` or both must name it. */
        'X-Workspace-Id'?: string;
      };
      path: {
        /** @description The encrypted file name. */
        token: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the envelope in base64 */
      200: {
        headers: {
          /** @description The size of the envelope. */
          'X-Asset-Size-Bytes': string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'text/plain': string;
        };
      };
      /** @description no workspace is named, or two different ones are; the token is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; asset not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'assets.delete': {
    parameters: {
      query?: {
        /** @description The workspace. `workspaceId`, `X-Workspace-Id` or both must name it. */
        workspaceId?: string;
      };
      header?: {
        /** @description The workspace. `workspaceId`, `X-Workspace-Id` or both must name it. */
        'X-Workspace-Id'?: string;
      };
      path: {
        /** @description The encrypted file name. */
        token: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the asset does not exist any more */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Ok'];
        };
      };
      /** @description no workspace is named, or two different ones are; the token is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'assets.rename': {
    parameters: {
      query?: {
        /** @description The workspace. `workspaceId`, `X-Workspace-Id` or both must name it. */
        workspaceId?: string;
      };
      header?: {
        /** @description The workspace. `workspaceId`, `X-Workspace-Id` or both must name it. */
        'X-Workspace-Id'?: string;
      };
      path: {
        /** @description The encrypted file name. */
        token: string;
      };
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        'application/json': components['schemas']['RenameAssetRequest'];
      };
    };
    responses: {
      /** @description the asset is renamed */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Ok'];
        };
      };
      /** @description no workspace is named, or two different ones are; the body is invalid; the token is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; asset not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the name is taken */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.changePassword': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          currentPassword: string;
          newPassword: string;
          /** @description The other sessions are revoked in any case. With true, this session also gets a new token. */
          revokeOtherSessions?: boolean;
          /** @description Whether to revoke all personal access tokens too. */
          revokeAccessTokens?: boolean;
        };
      };
    };
    responses: {
      /** @description the password is changed; `token` is the new token of this session if `revokeOtherSessions` is true */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            token: string | null;
            user: components['schemas']['IdentityUser'];
          };
        };
      };
      /** @description the current password is wrong, the new one is too short, too long or too common, or the account has no password */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description there is no session */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.getSession': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the session and its user, or null without a session */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            session: components['schemas']['IdentitySession'];
            user: components['schemas']['IdentityUser'];
          } | null;
        };
      };
      /** @description the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.getPublicKeys': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description a JSON Web Key Set */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            keys: components['schemas']['PublicKey'][];
          };
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.listSessions': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the sessions; `token` is the id of the session, except for the one that asks */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['IdentitySession'][];
        };
      };
      /** @description there is no session */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the session is older than a day, so the user must sign in again; or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.createOneTimeToken': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the token */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            token: string;
          };
        };
      };
      /** @description there is no session */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.verifyOneTimeToken': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          token: string;
        };
      };
    };
    responses: {
      /** @description the session and its user */
      200: {
        headers: {
          /** @description The session cookie, for browsers. */
          'Set-Cookie'?: string;
          /** @description The signed session token, for apps. */
          'set-auth-token'?: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            session: components['schemas']['IdentitySession'];
            user: components['schemas']['IdentityUser'];
          };
        };
      };
      /** @description the token is unknown, used or expired */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'factors.removePasskey': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          id: string;
        };
      };
    };
    responses: {
      /** @description the passkey is removed */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            status: true;
          };
        };
      };
      /** @description it is the last way to sign in, or the id is not text */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description there is no session */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description `recent sign-in required`, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description there is no such passkey */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'factors.beginPasskeySignIn': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the options for `navigator.credentials.get` */
      200: {
        headers: {
          /** @description The cookie that the answer to the challenge must be sent back with. */
          'Set-Cookie'?: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            challenge: string;
          };
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'factors.beginPasskey': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the options for `navigator.credentials.create` */
      200: {
        headers: {
          /** @description The cookie that the answer to the challenge must be sent back with. */
          'Set-Cookie'?: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            challenge: string;
          };
        };
      };
      /** @description there is no session */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description `recent sign-in required`, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'factors.listPasskeys': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the passkeys */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Passkey'][];
        };
      };
      /** @description there is no session */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'factors.renamePasskey': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          id: string;
          name: string;
        };
      };
    };
    responses: {
      /** @description the passkey */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            passkey: components['schemas']['Passkey'];
          };
        };
      };
      /** @description a field is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description there is no session, or the passkey is of another user */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description there is no such passkey */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'factors.signInWithPasskey': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          response: Record<string, never>;
        };
      };
    };
    responses: {
      /** @description a new session */
      200: {
        headers: {
          /** @description The session cookie, for browsers. */
          'Set-Cookie'?: string;
          /** @description The signed session token, for apps. */
          'set-auth-token'?: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            session: components['schemas']['IdentitySession'];
            user: components['schemas']['IdentityUser'];
          };
        };
      };
      /** @description the challenge is unknown, used or expired, or the answer is not valid for it */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the passkey is unknown, or the authenticator did not verify the user */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'factors.addPasskey': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          response: Record<string, never>;
          name?: string;
        };
      };
    };
    responses: {
      /** @description the passkey */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Passkey'];
        };
      };
      /** @description the challenge is unknown, used or expired, or the answer is not valid for it */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description there is no session, or the authenticator did not verify the user */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description `recent sign-in required`, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.requestPasswordReset': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          email: string;
        };
      };
    };
    responses: {
      /** @description the request is accepted */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            status: true;
            message: string;
          };
        };
      };
      /** @description the email is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the service cannot send mail */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.resetPassword': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          token: string;
          newPassword: string;
          /** @description Whether to revoke all personal access tokens too. */
          revokeAccessTokens?: boolean;
        };
      };
    };
    responses: {
      /** @description the password is changed */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            status: true;
          };
        };
      };
      /** @description the link does not work any more, or the password is too short, too long or too common */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the service cannot send mail */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.revokeOtherSessions': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the sessions are revoked */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            status: true;
          };
        };
      };
      /** @description the body is not JSON */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description there is no session */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.revokeSession': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          token: string;
        };
      };
    };
    responses: {
      /** @description the session is revoked, or no session has this token */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            status: true;
          };
        };
      };
      /** @description the token is missing */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description there is no session */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.sendVerificationEmail': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          email: string;
        };
      };
    };
    responses: {
      /** @description the request is accepted */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            status: true;
          };
        };
      };
      /** @description the email is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the service cannot send mail */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.signIn': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "email": "ada@example.org",
         *       "password": "correct horse battery staple"
         *     }
         */
        'application/json': {
          email: string;
          password: string;
        };
      };
    };
    responses: {
      /** @description a new session; or, for an account with a second factor, a cookie to send back with the code */
      200: {
        headers: {
          /** @description The session cookie, for browsers. */
          'Set-Cookie'?: string;
          /** @description The signed session token, for apps. */
          'set-auth-token'?: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "redirect": false,
           *       "token": "v3Jt0cZx8mQ2",
           *       "user": {
           *         "id": "0b9cfa2e-6f0a-4b6e-8f5d-6f1f9a9f2d10",
           *         "name": "Ada",
           *         "email": "ada@example.org",
           *         "emailVerified": false,
           *         "twoFactorEnabled": false,
           *         "image": null,
           *         "createdAt": "2026-03-01T12:00:00.000Z",
           *         "updatedAt": "2026-03-01T12:00:00.000Z"
           *       }
           *     }
           */
          'application/json':
            | {
                redirect: boolean;
                token: string;
                user: components['schemas']['IdentityUser'];
                /** Format: uri */
                url?: string;
              }
            | components['schemas']['SecondFactorNeeded'];
        };
      };
      /** @description a field is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the email or password is wrong */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the address is not confirmed (`EMAIL_NOT_VERIFIED`), the request was sent by another site, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.signOut': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the session has ended */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            success: true;
          };
        };
      };
      /** @description the body is not JSON */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.signUp': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "name": "Ada",
         *       "email": "ada@example.org",
         *       "password": "correct horse battery staple"
         *     }
         */
        'application/json': {
          name: string;
          email: string;
          password: string;
        };
      };
    };
    responses: {
      /** @description the account and a new session; `token` is null, and nobody is signed in, where the address must be confirmed first, also if the address has an account */
      200: {
        headers: {
          /** @description The session cookie, for browsers. */
          'Set-Cookie'?: string;
          /** @description The signed session token, for apps. */
          'set-auth-token'?: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "token": "v3Jt0cZx8mQ2",
           *       "user": {
           *         "id": "0b9cfa2e-6f0a-4b6e-8f5d-6f1f9a9f2d10",
           *         "name": "Ada",
           *         "email": "ada@example.org",
           *         "emailVerified": false,
           *         "twoFactorEnabled": false,
           *         "image": null,
           *         "createdAt": "2026-03-01T12:00:00.000Z",
           *         "updatedAt": "2026-03-01T12:00:00.000Z"
           *       }
           *     }
           */
          'application/json': {
            token: string | null;
            user: components['schemas']['IdentityUser'];
          };
        };
      };
      /** @description a field is invalid, the password is too common, or sign-up is closed */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an account with this email already exists */
      422: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.getToken': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description an RS256 JWT */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            token: string;
          };
        };
      };
      /** @description there is no session */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'factors.removeSecondFactor': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** @description The password; it may be left out within ten minutes of a sign-in. */
    requestBody: {
      content: {
        'application/json': {
          password?: string;
        };
      };
    };
    responses: {
      /** @description the factor is off */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            status: true;
          };
        };
      };
      /** @description the password is wrong, the account has none, or there is no second factor */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description there is no session */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, the account is suspended, or `recent sign-in required`: there was no password */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'factors.beginSecondFactor': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** @description The password; it may be left out within ten minutes of a sign-in. */
    requestBody: {
      content: {
        'application/json': {
          password?: string;
        };
      };
    };
    responses: {
      /** @description a new secret, as the `otpauth:` address for authenticator apps */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @enum {unknown} */
            method: 'totp';
            totpURI: string;
          };
        };
      };
      /** @description the password is wrong, the account has none, or a factor is on already */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description there is no session */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, the account is suspended, or `recent sign-in required`: there was no password */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'factors.replaceBackupCodes': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** @description The password; it may be left out within ten minutes of a sign-in. */
    requestBody: {
      content: {
        'application/json': {
          password?: string;
        };
      };
    };
    responses: {
      /** @description the new codes; the old ones no longer work */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            status: true;
            /** @description Ten codes, each for one use; shown only here. */
            backupCodes: string[];
          };
        };
      };
      /** @description the password is wrong, the account has none, or there is no second factor */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description there is no session */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, the account is suspended, or `recent sign-in required`: there was no password */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'factors.enterBackupCode': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          code: string;
        };
      };
    };
    responses: {
      /** @description the session */
      200: {
        headers: {
          /** @description The session cookie, for browsers. */
          'Set-Cookie'?: string;
          /** @description The signed session token, for apps. */
          'set-auth-token'?: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            token: string;
            user: components['schemas']['IdentityUser'];
          };
        };
      };
      /** @description the code is not text */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the code is wrong or was used before, or no sign-in waits for one */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests; there were five wrong codes in a quarter of an hour */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'factors.enterCode': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          code: string;
        };
      };
    };
    responses: {
      /** @description the session, and the backup codes when this finished the set-up */
      200: {
        headers: {
          /** @description The session cookie, for browsers. */
          'Set-Cookie'?: string;
          /** @description The signed session token, for apps. */
          'set-auth-token'?: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            token: string;
            user: components['schemas']['IdentityUser'];
            /** @description Ten codes, each for one use; shown only here. */
            backupCodes?: string[];
          };
        };
      };
      /** @description the code is not text */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the code is wrong or was used before, or no sign-in waits for one */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests; there were five wrong codes in a quarter of an hour */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'identity.updateUser': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** @description At least one of the fields. */
    requestBody: {
      content: {
        'application/json': {
          name?: string;
          image?: string | null;
        };
      };
    };
    responses: {
      /** @description the user is changed */
      200: {
        headers: {
          /** @description The session cookie, for browsers. */
          'Set-Cookie'?: string;
          /** @description The signed session token, for apps. */
          'set-auth-token'?: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            status: true;
          };
        };
      };
      /** @description a field is invalid, or there is none */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description there is no session */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the request was sent by another site, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'] | components['schemas']['IdentityError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'auth.devLogin': {
    parameters: {
      query?: never;
      header: {
        /** @description The DEV_LOGIN_KEY of the service. */
        'X-Dev-Login-Key': string;
      };
      path?: never;
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        'application/json': components['schemas']['DevLoginRequest'];
      };
    };
    responses: {
      /** @description the token */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            token: string;
            /** Format: uuid */
            userId: string;
            email: string;
            name: string;
          };
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description dev-login is not enabled, the key is wrong, or the account is suspended or has a second factor */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'auth.me': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the user */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['User'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the user of the JWT has been deleted */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'auth.deleteMe': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        'application/json': components['schemas']['DeleteAccountRequest'];
      };
    };
    responses: {
      /** @description the account is deleted */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Ok'];
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an interactive session is required, or the account is suspended; the user last signed in more than ten minutes ago, or the token is not a JWT of a session */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'auth.download': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the archive */
      200: {
        headers: {
          /** @description A file name with the date. */
          'Content-Disposition': string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/x-tar': Uint8Array;
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an interactive session is required, or the account is suspended; the user last signed in more than ten minutes ago, or the token is not a JWT of a session */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed; an export of this account is under way, or too many others are */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'accessTokens.list': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the metadata of each token */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "tokens": [
           *         {
           *           "id": "3d0a6c1e-4f35-4c7d-a0c1-9b8e7d6f5a33",
           *           "name": "Backup script",
           *           "created_at": "2026-03-01T12:00:00.000Z",
           *           "last_used_at": null,
           *           "expires_at": "2027-03-01T12:00:00.000Z",
           *           "revoked_at": null,
           *           "scopes": [
           *             "documents:read"
           *           ],
           *           "workspace_id": "5f0c1a52-8d0e-4c55-9b1e-2f6a7f0f4b11"
           *         }
           *       ]
           *     }
           */
          'application/json': {
            tokens: components['schemas']['AccessToken'][];
          };
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an interactive session is required, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'accessTokens.create': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        /**
         * @example {
         *       "name": "Backup script",
         *       "scopes": [
         *         "documents:read"
         *       ],
         *       "workspaceId": "5f0c1a52-8d0e-4c55-9b1e-2f6a7f0f4b11",
         *       "expiresAt": "2027-03-01T12:00:00.000Z"
         *     }
         */
        'application/json': components['schemas']['MintTokenRequest'];
      };
    };
    responses: {
      /** @description the token, which is returned only once */
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['MintedAccessToken'];
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an interactive session is required, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the user already has 1,000 tokens that are neither revoked nor expired */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'accessTokens.revoke': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The id of the token. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the token is revoked */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Ok'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an interactive session is required, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description token not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'automation.listCheckpoints': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the checkpoints; `label` is null if it cannot be decrypted */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            checkpoints: components['schemas']['NoteCheckpoint'][];
          };
        };
      };
      /** @description a valid bearer token is required; key session required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'automation.createCheckpoint': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        'application/json': components['schemas']['CreateNoteCheckpointRequest'];
      };
    };
    responses: {
      /** @description the checkpoint */
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** Format: uuid */
            id: string;
            label: string | null;
            /** @enum {unknown} */
            kind: 'manual' | 'auto';
            cursor: number;
            /** @description `YYYY-MM-DD HH:MM:SS`, UTC */
            createdAt: string;
            /** Format: uuid */
            workspaceId: string;
          };
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required; key session required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the workspace already has 10,000 checkpoints */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'automation.getCheckpointSummary': {
    parameters: {
      query?: {
        /** @description The exclusive start of the window. */
        fromCursor?: number;
      };
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The id of a checkpoint. */
        cpId: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description each path that changed */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            fromCursor: number;
            toCursor: number;
            entries: {
              path: string | null;
              /** @enum {unknown} */
              action: 'created' | 'modified' | 'deleted';
              changeCount: number;
              latestVersion: number;
            }[];
          };
        };
      };
      /** @description fromCursor is not a cursor, or is above the cursor of the checkpoint */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required; key session required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; checkpoint not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the change log has been compacted */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            error: string;
            compactionFloor: number;
          };
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'automation.getHistory': {
    parameters: {
      query?: {
        /** @description The id of a version. */
        version?: string;
      };
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The path of the note, percent-encoded except for its slashes. It is the rest of the URL. */
        path: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the versions, newest first; with `version`, only that version */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json':
            | {
                versions: components['schemas']['NoteVersion'][];
              }
            | components['schemas']['NoteVersionContent'];
        };
      };
      /** @description the path or a query parameter is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required; key session required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; the path has never existed, or has no such version */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the content cannot be decrypted with this key, or is not text */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'automation.openKeySession': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    /** @description At most 16,384 bytes. */
    requestBody: {
      content: {
        'application/json': components['schemas']['OpenKeySessionRequest'];
      };
    };
    responses: {
      /** @description the session token, which is returned only once */
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            keySession: string;
            /** Format: date-time */
            expiresAt: string;
          };
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended; the password, recovery key or key is wrong */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the encryption is not set up, there is no recovery key, or the password opens none of the slots that were tried and others were left */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'automation.endKeySession': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the session has ended */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Ok'];
        };
      };
      /** @description a valid bearer token is required; key session required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'automation.getMetadata': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the salts and key derivation parameters; the salts are null before the encryption is set up */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** Format: uuid */
            workspaceId: string;
            name: string;
            encryptionSalt: string | null;
            verificationSalt: string | null;
            kdf: {
              /** @enum {unknown} */
              name: 'PBKDF2-HMAC-SHA256';
              /** @enum {unknown} */
              iterations: 600000;
              /** @enum {unknown} */
              passwordEncoding: 'UTF-8 NFKC';
              /** @enum {unknown} */
              keyBytes: 32;
            };
          };
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'automation.listNotes': {
    parameters: {
      query?: {
        /** @description Lists only paths that begin with this text. */
        prefix?: string;
        /** @description 1 to 1000; 100 if it is missing or not a number. */
        limit?: string;
        /** @description `nextPageCursor` of the previous page. */
        pageCursor?: string;
      };
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description a page; `path` is null if it cannot be decrypted with this key */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            notes: components['schemas']['ListedNote'][];
            /** Format: uuid */
            nextPageCursor: string | null;
            hasMore: boolean;
          };
        };
      };
      /** @description a query parameter is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required; key session required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'automation.createNote': {
    parameters: {
      query?: never;
      header?: {
        /** @description The device that makes the change. Default: `automation`. */
        'X-Device-Id'?: string;
      };
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "path": "Ideas/Sync.md",
         *       "content": "# Sync\n"
         *     }
         */
        'application/json': {
          path: string;
          /** @description Text of at most 100 MiB, unless MAX_FILE_BYTES sets another limit. */
          content: string;
        };
      };
    };
    responses: {
      /** @description the note */
      201: {
        headers: {
          /** @description The content hash, in quotes. */
          ETag: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "path": "Ideas/Sync.md",
           *       "version": 1,
           *       "contentHash": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
           *       "updatedAt": "2026-03-01T12:00:00.000Z"
           *     }
           */
          'application/json': components['schemas']['Note'];
        };
      };
      /** @description the path, content or X-Device-Id is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required; key session required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a note with this path already exists */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the content is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the quota of the account would be exceeded */
      507: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            error: string;
            /** @enum {unknown} */
            code: 'STORAGE_QUOTA_EXCEEDED';
            details: {
              usedBytes: number;
              quotaBytes: number;
              requestedBytes: number;
              locked: boolean;
            };
          };
        };
      };
    };
  };
  'automation.getNote': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The path of the note, percent-encoded except for its slashes. It is the rest of the URL. */
        path: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the note */
      200: {
        headers: {
          /** @description The content hash, in quotes. */
          ETag: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['NoteWithContent'];
        };
      };
      /** @description the path is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required; key session required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; note not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the content cannot be decrypted with this key, or is not text */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'automation.updateNote': {
    parameters: {
      query?: never;
      header?: {
        /** @description The device that makes the change. Default: `automation`. */
        'X-Device-Id'?: string;
        /** @description `"<content hash>"`: writes only if this is the current content. */
        'If-Match'?: string;
      };
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The path of the note, percent-encoded except for its slashes. It is the rest of the URL. */
        path: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description Text of at most 100 MiB, unless MAX_FILE_BYTES sets another limit. */
          content: string;
        };
      };
    };
    responses: {
      /** @description the note */
      200: {
        headers: {
          /** @description The content hash, in quotes. */
          ETag: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Note'];
        };
      };
      /** @description the path, content or a header is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required; key session required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; note not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the note has changed */
      412: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the content is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the quota of the account would be exceeded */
      507: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            error: string;
            /** @enum {unknown} */
            code: 'STORAGE_QUOTA_EXCEEDED';
            details: {
              usedBytes: number;
              quotaBytes: number;
              requestedBytes: number;
              locked: boolean;
            };
          };
        };
      };
    };
  };
  'automation.deleteNote': {
    parameters: {
      query?: never;
      header?: {
        /** @description The device that makes the change. Default: `automation`. */
        'X-Device-Id'?: string;
      };
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The path of the note, percent-encoded except for its slashes. It is the rest of the URL. */
        path: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the note is deleted */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Ok'];
        };
      };
      /** @description the path or X-Device-Id is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required; key session required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; note not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'automation.restoreNote': {
    parameters: {
      query?: never;
      header?: {
        /** @description The device that makes the change. Default: `automation`. */
        'X-Device-Id'?: string;
      };
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The path of the note, percent-encoded except for its slashes. It is the rest of the URL. */
        path: string;
      };
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        'application/json': components['schemas']['RestoreNoteRequest'];
      };
    };
    responses: {
      /** @description the new version */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            path: string;
            version: number;
            contentHash: string;
          };
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required; key session required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; the note has no such version */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'automation.searchNotes': {
    parameters: {
      query: {
        /** @description The words to find, 1 to 256 characters. A result contains all of them. */
        q: string;
        /** @description 1 to 100; 20 if it is missing or not a number. */
        limit?: string;
      };
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the results, best first */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "results": [
           *         {
           *           "path": "Ideas/Sync.md",
           *           "version": 1,
           *           "score": 2.5,
           *           "snippet": "# Sync"
           *         }
           *       ]
           *     }
           */
          'application/json': {
            results: {
              path: string;
              version: number;
              score: number;
              snippet: string;
            }[];
          };
        };
      };
      /** @description q is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required; key session required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'devices.list': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description all registered devices */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            devices: components['schemas']['Device'][];
          };
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'devices.register': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        /**
         * @example {
         *       "name": "Laptop",
         *       "platform": "linux"
         *     }
         */
        'application/json': components['schemas']['CreateDeviceRequest'];
      };
    };
    responses: {
      /** @description the device */
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "id": "e2b7d5f4-1c3a-4e8d-b6f0-8a9c7d5e3b64",
           *       "userId": "0b9cfa2e-6f0a-4b6e-8f5d-6f1f9a9f2d10",
           *       "name": "Laptop",
           *       "platform": "linux"
           *     }
           */
          'application/json': components['schemas']['CreatedDevice'];
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the user already has 1,000 devices */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'devices.subscribe': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        'application/json': components['schemas']['SubscribeRequest'];
      };
    };
    responses: {
      /** @description the device is subscribed */
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Ok'];
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'devices.unsubscribe': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        workspaceId: string;
        /** @description The device id that the subscription was created with. */
        deviceId: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the device has no subscription */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Ok'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'devices.getVapidPublicKey': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the VAPID public key, or `enabled: false` if Web Push is off */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json':
            | {
                publicKey: string;
                /** @constant */
                enabled: true;
              }
            | {
                /** @constant */
                enabled: false;
              };
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'devices.delete': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The id of the device. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the device is deleted */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Ok'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the token is bound to a workspace, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description device not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'subscription.get': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the current subscription */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "plan": "free",
           *       "status": "trial",
           *       "trialStartDate": "2026-03-01T12:00:00.000Z",
           *       "trialEndDate": "2026-03-31T12:00:00.000Z",
           *       "currentPeriodEnd": null,
           *       "cancelAtPeriodEnd": false
           *     }
           */
          'application/json': components['schemas']['Subscription'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'subscription.createCheckoutUrl': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the URL to open in the browser */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** Format: uri */
            url: string;
          };
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the token is bound to a workspace, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the user already has a subscription */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed; no payment provider is configured, or it does not respond */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'subscription.getPortalUrl': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the URL to open in the browser */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** Format: uri */
            url: string;
          };
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the token is bound to a workspace, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the user has not bought anything yet */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed; no payment provider is configured, or it does not respond */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'subscription.startTrial': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the trial */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "plan": "free",
           *       "status": "trial",
           *       "trialStartDate": "2026-03-01T12:00:00.000Z",
           *       "trialEndDate": "2026-03-31T12:00:00.000Z",
           *       "currentPeriodEnd": null,
           *       "cancelAtPeriodEnd": false
           *     }
           */
          'application/json': components['schemas']['Subscription'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the token is bound to a workspace, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the trial has been used, or the user has a paid subscription */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'usage.get': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the use of documents by workspace, and of assets */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            documents: components['schemas']['DocumentUsage'];
            assets: components['schemas']['AssetUsage'];
          };
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'subscription.receivePaymentEvent': {
    parameters: {
      query?: never;
      header?: {
        /** @description `t=…,v1=…` or a bare hex HMAC-SHA256, over the raw body. `Stripe-Signature` is read too. Required if PAYMENT_WEBHOOK_SECRET is set. */
        'Payment-Signature'?: string;
      };
      path?: never;
      cookie?: never;
    };
    /** @description At most 256 KiB. */
    requestBody: {
      content: {
        'application/json': Record<string, never>;
      };
    };
    responses: {
      /** @description the event is accepted */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            received: true;
          };
        };
      };
      /** @description the signature is missing, wrong or too old, or the event is malformed */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the event is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed; payment events are not configured, or too many are being sent at once */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'workspaces.list': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description all workspaces of the caller */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            workspaces: components['schemas']['Workspace'][];
          };
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'workspaces.create': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        /**
         * @example {
         *       "name": "Notes"
         *     }
         */
        'application/json': components['schemas']['CreateWorkspaceRequest'];
      };
    };
    responses: {
      /** @description the workspace */
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "id": "5f0c1a52-8d0e-4c55-9b1e-2f6a7f0f4b11",
           *       "userId": "0b9cfa2e-6f0a-4b6e-8f5d-6f1f9a9f2d10",
           *       "name": "Notes",
           *       "createdAt": "2026-03-01T12:00:00.000Z",
           *       "updatedAt": "2026-03-01T12:00:00.000Z"
           *     }
           */
          'application/json': components['schemas']['CreatedWorkspace'];
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the token is bound to a workspace, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the user already has 1,000 workspaces */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'workspaces.get': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the workspace */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Workspace'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'workspaces.delete': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the workspace is deleted */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Ok'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'checkpoints.list': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description all checkpoints */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "checkpoints": [
           *         {
           *           "id": "7a1d8c3e-2b64-4a0f-9d7e-5c3b2a190f42",
           *           "encryptedLabel": "bGFiZWw",
           *           "kind": "manual",
           *           "cursor": 42,
           *           "createdAt": "2026-03-01 12:00:00"
           *         }
           *       ]
           *     }
           */
          'application/json': {
            checkpoints: components['schemas']['Checkpoint'][];
          };
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'checkpoints.create': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        /**
         * @example {
         *       "encryptedLabel": "bGFiZWw",
         *       "kind": "manual"
         *     }
         */
        'application/json': components['schemas']['CreateCheckpointRequest'];
      };
    };
    responses: {
      /** @description the checkpoint */
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "id": "7a1d8c3e-2b64-4a0f-9d7e-5c3b2a190f42",
           *       "encryptedLabel": "bGFiZWw",
           *       "kind": "manual",
           *       "cursor": 42,
           *       "createdAt": "2026-03-01 12:00:00",
           *       "workspaceId": "5f0c1a52-8d0e-4c55-9b1e-2f6a7f0f4b11"
           *     }
           */
          'application/json': components['schemas']['CreatedCheckpoint'];
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the workspace already has 10,000 checkpoints */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'checkpoints.delete': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The id of a checkpoint. */
        cpId: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the checkpoint is deleted */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Ok'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; checkpoint not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'checkpoints.getNoteState': {
    parameters: {
      query: {
        /** @description The encrypted path. */
        encPath: string;
      };
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The id of a checkpoint. */
        cpId: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the version id, or `absent` if the path did not exist */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json':
            | {
                /** Format: uuid */
                versionId: string | null;
              }
            | {
                /** @constant */
                absent: true;
              };
        };
      };
      /** @description encPath is missing or invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; checkpoint not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the change log has been compacted */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            error: string;
            compactionFloor: number;
          };
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'checkpoints.getRestoreManifest': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The id of a checkpoint. */
        cpId: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the operations, computed against one head */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            expectedHeadCursor: number;
            entries: components['schemas']['ManifestEntry'][];
          };
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; checkpoint not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the change log has been compacted */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            error: string;
            compactionFloor: number;
          };
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'checkpoints.getSummary': {
    parameters: {
      query?: {
        /** @description The exclusive start of the window. Default: the cursor of the next-older checkpoint. */
        fromCursor?: number;
      };
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The id of a checkpoint. */
        cpId: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description each path that changed */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            fromCursor: number;
            toCursor: number;
            entries: components['schemas']['SummaryEntry'][];
          };
        };
      };
      /** @description fromCursor is not a cursor, or is above the cursor of the checkpoint */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; checkpoint not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the change log has been compacted */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            error: string;
            compactionFloor: number;
          };
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'files.list': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description all live files */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            files: components['schemas']['ListedFile'][];
          };
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'files.batchDownload': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    /** @description At most 8,388,608 bytes. */
    requestBody: {
      content: {
        'application/json': components['schemas']['BatchDownloadRequest'];
      };
    };
    responses: {
      /** @description a map for each item */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/cbor-seq': Uint8Array;
        };
      };
      /** @description the body is invalid; an item is invalid, or there are none or more than 1,000 */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'files.batchUpload': {
    parameters: {
      query?: never;
      header: {
        /** @description The device that makes the changes and is not notified of them. It need not be registered. */
        'X-Device-Id': string;
      };
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    /** @description A CBOR sequence of maps. */
    requestBody: {
      content: {
        'application/cbor-seq': Uint8Array;
      };
    };
    responses: {
      /** @description a result for each item, in order. `status` is what a PUT would have answered (200, 201, 400, 412, 507), or 409 for a path that the batch has before; `cursor` is that of the last change, or of the workspace when there is none */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            cursor: number;
            results: components['schemas']['BatchUploadResult'][];
          };
        };
      };
      /** @description X-Device-Id is invalid, or the body is empty or not a CBOR sequence of maps */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body arrives more slowly than the least pace */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description there are too many items, an item is too large, or all of them are */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'files.download': {
    parameters: {
      query?: never;
      header?: {
        /** @description One range: `bytes=…`. */
        Range?: string;
        /** @description An ETag. The range applies only to this content. */
        'If-Range'?: string;
        /** @description The ETags that the client has. */
        'If-None-Match'?: string;
      };
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The encrypted path: base64url, opaque, compared exactly. */
        encPath: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the ciphertext */
      200: {
        headers: {
          /** @description The content hash, in quotes. */
          ETag: string;
          /** @description bytes */
          'Accept-Ranges': string;
          /** @description The size of the ciphertext. */
          'Content-Length': string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/octet-stream': Uint8Array;
        };
      };
      /** @description the requested range */
      206: {
        headers: {
          /** @description The content hash, in quotes. */
          ETag: string;
          /** @description `bytes <first>-<last>/<size>` */
          'Content-Range': string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/octet-stream': Uint8Array;
        };
      };
      /** @description the client has this content */
      304: {
        headers: {
          /** @description The content hash, in quotes. */
          ETag: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description the path is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; file not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the range is outside the file */
      416: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'files.upload': {
    parameters: {
      query?: never;
      header: {
        /** @description The device that makes the change and is not notified of it. It need not be registered. */
        'X-Device-Id': string;
        /** @description SHA-256 of the body, in hex. */
        'X-Content-Hash': string;
        /** @description `"<content hash>"`: uploads only if this is the current content. */
        'If-Match'?: string;
        /** @description `*`: uploads only if the path has no live file. */
        'If-None-Match'?: string;
      };
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The encrypted path: base64url, opaque, compared exactly. */
        encPath: string;
      };
      cookie?: never;
    };
    /** @description The ciphertext, at most 100 MiB unless MAX_FILE_BYTES sets another limit. */
    requestBody: {
      content: {
        'application/octet-stream': Uint8Array;
      };
    };
    responses: {
      /** @description a new version of an existing file, or no change */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "id": "c1f6a4a0-93c5-4f1e-8c52-0f4f8f6f1e21",
           *       "workspaceId": "5f0c1a52-8d0e-4c55-9b1e-2f6a7f0f4b11",
           *       "encryptedPath": "q7T1x0dK3m9vYw5uZbC2eA",
           *       "contentHash": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
           *       "encryptedSize": 1024,
           *       "version": 2
           *     }
           */
          'application/json': components['schemas']['UploadedFile'];
        };
      };
      /** @description a new file */
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "id": "c1f6a4a0-93c5-4f1e-8c52-0f4f8f6f1e21",
           *       "workspaceId": "5f0c1a52-8d0e-4c55-9b1e-2f6a7f0f4b11",
           *       "encryptedPath": "q7T1x0dK3m9vYw5uZbC2eA",
           *       "contentHash": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
           *       "encryptedSize": 1024,
           *       "version": 1
           *     }
           */
          'application/json': components['schemas']['UploadedFile'];
        };
      };
      /** @description the path or a header is invalid, or the hash is not the hash of the body */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the live file does not meet the condition */
      412: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the quota of the account would be exceeded */
      507: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            error: string;
            /** @enum {unknown} */
            code: 'STORAGE_QUOTA_EXCEEDED';
            details: {
              usedBytes: number;
              quotaBytes: number;
              requestedBytes: number;
              locked: boolean;
            };
          };
        };
      };
    };
  };
  'files.delete': {
    parameters: {
      query?: never;
      header: {
        /** @description The device that makes the change and is not notified of it. It need not be registered. */
        'X-Device-Id': string;
      };
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The encrypted path: base64url, opaque, compared exactly. */
        encPath: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the file is deleted */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Ok'];
        };
      };
      /** @description the path or X-Device-Id is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; file not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'versions.restore': {
    parameters: {
      query?: never;
      header?: {
        /** @description The device that restores and is not notified of the change. Without this header, every device is notified. */
        'X-Device-Id'?: string;
      };
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The encrypted path: base64url, opaque, compared exactly. */
        encPath: string;
        /** @description The id of a version. */
        vid: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the new version; `id` is the id of the file */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['RestoredFile'];
        };
      };
      /** @description the path or X-Device-Id is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; version not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'versions.list': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The encrypted path: base64url, opaque, compared exactly. */
        encPath: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description all versions that are kept */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            versions: components['schemas']['Version'][];
          };
        };
      };
      /** @description the path is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; the path has never existed */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'versions.download': {
    parameters: {
      query?: never;
      header?: {
        /** @description One range: `bytes=…`. */
        Range?: string;
        /** @description An ETag. The range applies only to this content. */
        'If-Range'?: string;
        /** @description The ETags that the client has. */
        'If-None-Match'?: string;
      };
      path: {
        /** @description The workspace. */
        id: string;
        /** @description The encrypted path: base64url, opaque, compared exactly. */
        encPath: string;
        /** @description The id of a version. */
        vid: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the ciphertext */
      200: {
        headers: {
          /** @description The content hash, in quotes. */
          ETag: string;
          /** @description bytes */
          'Accept-Ranges': string;
          /** @description The size of the ciphertext. */
          'Content-Length': string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/octet-stream': Uint8Array;
        };
      };
      /** @description the requested range */
      206: {
        headers: {
          /** @description The content hash, in quotes. */
          ETag: string;
          /** @description `bytes <first>-<last>/<size>` */
          'Content-Range': string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/octet-stream': Uint8Array;
        };
      };
      /** @description the client has this content */
      304: {
        headers: {
          /** @description The content hash, in quotes. */
          ETag: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description the path is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; version not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the range is outside the file */
      416: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'keySlots.list': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description all slots */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['KeySlots'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'keySlots.put': {
    parameters: {
      query?: never;
      header?: {
        /** @description `"<updatedAt>"`: writes only if the slot has not been replaced since. */
        'If-Match'?: string;
      };
      path: {
        /** @description The workspace. */
        id: string;
        /** @description A UUID that the client chooses. */
        slotId: string;
      };
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        'application/json': components['schemas']['PutKeySlotRequest'];
      };
    };
    responses: {
      /** @description the slot, which replaces an earlier one */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['KeySlot'];
        };
      };
      /** @description a new slot */
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['KeySlot'];
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended; verificationHash is wrong, or the token lacks the scope */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description encryption is not set up, or the workspace already has 16 slots or 4 passwords */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the slot has been replaced or deleted since the time in If-Match */
      412: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'keySlots.delete': {
    parameters: {
      query?: never;
      header?: {
        /** @description `"<updatedAt>"`: writes only if the slot has not been replaced since. */
        'If-Match'?: string;
      };
      path: {
        /** @description The workspace. */
        id: string;
        /** @description A UUID that the client chooses. */
        slotId: string;
      };
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        'application/json': components['schemas']['DeleteKeySlotRequest'];
      };
    };
    responses: {
      /** @description the slot is deleted */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Ok'];
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended; verificationHash is wrong, or the token lacks the scope */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found; key slot not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description encryption is not set up, or it is the last slot that opens */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the slot has been replaced or deleted since the time in If-Match */
      412: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'workspaces.setUpEncryption': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        'application/json': components['schemas']['SetupEncryptionRequest'];
      };
    };
    responses: {
      /** @description the encryption is set up */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Ok'];
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the encryption is already set up */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'sync.pull': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        /**
         * @example {
         *       "deviceId": "laptop",
         *       "cursor": 41,
         *       "limit": 500
         *     }
         */
        'application/json': components['schemas']['PullRequest'];
      };
    };
    responses: {
      /** @description the changes, and the cursor to continue from */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "changes": [
           *         {
           *           "encryptedPath": "q7T1x0dK3m9vYw5uZbC2eA",
           *           "action": "upsert",
           *           "contentHash": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
           *           "encryptedSize": 1024,
           *           "version": 1,
           *           "changedAt": "2026-03-01T12:00:00.000Z",
           *           "changedByDevice": "phone"
           *         }
           *       ],
           *       "cursor": 42,
           *       "hasMore": false
           *     }
           */
          'application/json': {
            changes: components['schemas']['Change'][];
            cursor: number;
            hasMore: boolean;
          };
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the cursor is not valid in this log: start again from the snapshot */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            error: string;
            /** @constant */
            needsBootstrap: true;
            compactionFloor: number;
          };
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'sync.push': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    /** @description At most 8,388,608 bytes. */
    requestBody: {
      content: {
        /**
         * @example {
         *       "deviceId": "laptop",
         *       "baseCursor": 42,
         *       "changes": [
         *         {
         *           "encryptedPath": "q7T1x0dK3m9vYw5uZbC2eA",
         *           "action": "delete"
         *         }
         *       ]
         *     }
         */
        'application/json': components['schemas']['PushRequest'];
      };
    };
    responses: {
      /** @description the accepted paths and the conflicts */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "cursor": 43,
           *       "accepted": [
           *         "q7T1x0dK3m9vYw5uZbC2eA"
           *       ],
           *       "conflicts": []
           *     }
           */
          'application/json': {
            cursor: number;
            accepted: string[];
            conflicts: components['schemas']['PushConflict'][];
          };
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the cursor is not valid in this log: start again from the snapshot */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            error: string;
            /** @constant */
            needsBootstrap: true;
            compactionFloor: number;
          };
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'sync.getSnapshot': {
    parameters: {
      query?: {
        /** @description 1 to 1000; 100 if it is missing or not a number. The value is rounded down and clamped. */
        limit?: string;
        /** @description `nextPageCursor` of the previous page. */
        pageCursor?: string;
      };
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description a page, ordered by file id */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            files: components['schemas']['SnapshotFile'][];
            cursor: number;
            /** Format: uuid */
            nextPageCursor: string | null;
            hasMore: boolean;
          };
        };
      };
      /** @description pageCursor is not a file id */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'sync.getStatus': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the head cursor and the number of live files */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "cursor": 42,
           *       "fileCount": 7
           *     }
           */
          'application/json': {
            cursor: number;
            fileCount: number;
          };
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description an active subscription is required */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'files.listTrash': {
    parameters: {
      query?: {
        /** @description 1 to 1000; 100 if it is missing or not a number. The value is rounded down and clamped. */
        limit?: string;
        /** @description `nextPageCursor` of the previous page. */
        pageCursor?: string;
      };
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description a page, ordered by file id */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            files: components['schemas']['TrashedFile'][];
            /** Format: uuid */
            nextPageCursor: string | null;
            hasMore: boolean;
          };
        };
      };
      /** @description pageCursor is not a file id */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'workspaces.verifyPassword': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    /** @description At most 1,048,576 bytes. */
    requestBody: {
      content: {
        'application/json': components['schemas']['VerifyPasswordRequest'];
      };
    };
    responses: {
      /** @description whether the hash is correct */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            valid: boolean;
          };
        };
      };
      /** @description the body is invalid */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the body is too large */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'liveRoom.open': {
    parameters: {
      query?: {
        /** @description A JWT or a personal access token, instead of the Authorization header. */
        token?: string;
      };
      header?: {
        /** @description `websocket` */
        Upgrade?: string;
      };
      path: {
        /** @description The workspace. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the WebSocket is open */
      101: {
        headers: {
          /** @description `websocket` */
          Upgrade: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description a valid bearer token is required */
      401: {
        headers: {
          'WWW-Authenticate': components['headers']['WWW-Authenticate'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the token lacks the scope, or the account is suspended */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description workspace not found */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description the request does not ask for an upgrade */
      426: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
  'service.getHealth': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description the process responds */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            ok: true;
          };
        };
      };
    };
  };
  'service.getReadiness': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description this instance can serve requests */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Readiness'];
        };
      };
      /** @description this instance cannot serve requests */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['NotReady'];
        };
      };
    };
  };
  'service.getApiDocument': {
    parameters: {
      query?: never;
      header?: {
        /** @description The ETag that the client has. */
        'If-None-Match'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OpenAPI 3.1 */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': Record<string, never>;
        };
      };
      /** @description the client has the current version */
      304: {
        headers: {
          /** @description Identifies the version. */
          ETag: string;
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description too many requests */
      429: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
      /** @description temporarily unavailable; a retry may succeed */
      503: {
        headers: {
          'Retry-After': components['headers']['Retry-After'];
          'X-Request-Id': components['headers']['X-Request-Id'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiError'];
        };
      };
    };
  };
}
