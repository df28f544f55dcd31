import { WRAPPED_KEY } from '../../workspaces/key-slots/index.js';
import { statement } from '../../../platform/database/index.js';

/** What the service stores about an account, without secrets. Lists read `LIMIT` rows above a position, by an indexed key. */
export const exportStatements = {
  account: statement(
    'export.account',
    `SELECT u.id, u.email, u.name, u.image, u.email_verified AS "emailVerified",
            u.created_at AS "createdAt", u.updated_at AS "updatedAt", u.promoted_at AS "administratorSince",
            (SELECT coalesce(json_agg(json_build_object(
               'provider', provider_id, 'subject', CASE WHEN provider_id <> 'credential' THEN account_id END,
               'createdAt', created_at) ORDER BY created_at, id), '[]')
             FROM auth_accounts WHERE user_id = u.id) AS "waysToSignIn",
            (SELECT json_build_object('kind', 'totp', 'isConfirmed', verified, 'createdAt', created_at,
                                      'backupCodesLeft', cardinality(backup_codes))
             FROM auth_two_factors WHERE user_id = u.id) AS "secondFactor",
            (SELECT coalesce(json_agg(json_build_object(
               'name', name, 'createdAt', created_at, 'deviceType', device_type, 'isSynced', backed_up,
               'transports', transports, 'authenticatorModel', aaguid) ORDER BY created_at, id), '[]')
             FROM auth_passkeys WHERE user_id = u.id) AS passkeys,
            (SELECT coalesce(json_agg(json_build_object(
               'purpose', purpose, 'email', email, 'requestedAt', requested_at, 'expiresAt', expires_at,
               'usedAt', used_at) ORDER BY purpose), '[]')
             FROM mail_links WHERE user_id = u.id) AS "mailLinks",
            (SELECT to_json(s) FROM (
               SELECT plan, status, trial_start AS "trialStart", trial_end AS "trialEnd",
                      current_period_end AS "currentPeriodEnd", cancel_at_period_end AS "cancelAtPeriodEnd",
                      past_due_since AS "pastDueSince", updated_at AS "updatedAt",
                      provider_subscription_id AS "providerSubscriptionId"
               FROM subscriptions WHERE user_id = u.id
             ) s) AS subscription,
            (SELECT customer_id FROM payment_customers WHERE user_id = u.id) AS "paymentCustomer",
            (SELECT to_json(s) FROM (
               SELECT used_bytes AS "usedBytes", addon_bytes AS "addonBytes", locked
               FROM storage_accounts WHERE user_id = u.id
             ) s) AS "attachmentStorage",
            (SELECT coalesce(json_agg(json_build_object('notice', notice, 'mutedAt', muted_at) ORDER BY notice), '[]')
             FROM muted_notices WHERE user_id = u.id) AS "mutedNotices"
     FROM users u WHERE u.id = $1`,
  ),

  /** A statement, not an entity: the module of the table is above this one. */
  keySessions: statement(
    'export.key_sessions',
    `SELECT id, workspace_id AS "workspaceId", access_token_id AS "tokenId", created_at AS "createdAt",
            last_used_at AS "lastUsedAt"
     FROM key_sessions WHERE user_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
  ),

  /** The files as of the cursor $3: later changes do not count. */
  files: statement(
    'export.files',
    `SELECT f.id, f.encrypted_path AS "encryptedPath", c.action = 'delete' AS "isDeleted", c.version,
            c.content_hash AS "contentHash", c.encrypted_size AS "encryptedSize", c.cursor AS "changeCursor",
            f.created_at AS "createdAt", c.changed_at AS "changedAt"
     FROM {files} f CROSS JOIN LATERAL (
       SELECT * FROM {changes} WHERE workspace_id = $1 AND file_id = f.id AND cursor <= $3 ORDER BY cursor DESC LIMIT 1
     ) c
     WHERE f.workspace_id = $1 AND f.id > $2 ORDER BY f.id LIMIT $4`,
  ),

  /** The versions up to the cursor $3. A restored version shares the blob of an earlier one; `isFirst` is true for one. */
  versions: statement(
    'export.versions',
    `SELECT v.id, v.file_id AS "fileId", v.version, v.content_hash AS "contentHash", v.encrypted_size AS "encryptedSize",
            v.device_id AS "deviceId", v.change_cursor AS "changeCursor", v.created_at AS "createdAt", v.blob_id AS "blobId",
            NOT EXISTS (
              SELECT 1 FROM {versions} o
              WHERE o.workspace_id = $1 AND o.blob_id = v.blob_id AND o.id < v.id
                AND (o.change_cursor IS NULL OR o.change_cursor <= $3)
            ) AS "isFirst"
     FROM {versions} v
     WHERE v.workspace_id = $1 AND v.id > $2 AND (v.change_cursor IS NULL OR v.change_cursor <= $3)
     ORDER BY v.id LIMIT $4`,
  ),

  changes: statement(
    'export.changes',
    `SELECT cursor, file_id AS "fileId", action, version, content_hash AS "contentHash", encrypted_size AS "encryptedSize",
            changed_at AS "changedAt", changed_by_device AS "deviceId"
     FROM {changes} WHERE workspace_id = $1 AND cursor > $2 AND cursor <= $3 ORDER BY cursor LIMIT $4`,
  ),

  /** The assets up to the revision $4, in an order that renaming does not change. */
  assets: statement(
    'export.assets',
    `SELECT token, size, revision, uploaded_at AS "uploadedAt", blob_id AS "blobId"
     FROM {assets} WHERE workspace_id = $1 AND (uploaded_at, revision) > ($2::timestamptz, $3::bigint) AND revision <= $4
     ORDER BY uploaded_at, revision LIMIT $5`,
  ),

  keySlots: statement(
    'export.key_slots',
    `SELECT id, kind, label, kdf::json, ${WRAPPED_KEY}, created_at AS "createdAt", updated_at AS "updatedAt"
     FROM {key_slots} WHERE workspace_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
  ),
};
