/** Trials and manual grants expire without an event. */
export const hasRunOut = (time: string): string =>
  `(status = 'trial' AND trial_end <= ${time}
    OR status = 'active' AND provider_subscription_id IS NULL AND current_period_end <= ${time})`;

/** An expired subscription reads as expired before the nightly job has stored it. */
export const statusAt = (time: string): string => `CASE WHEN ${hasRunOut(time)} THEN 'expired' ELSE status END`;

/**
 * Whether a row of `subscriptions` is active. Parameters: the time, and the grace period in days after falling past due. The
 * interval is in hours: a day does not have 24 of them in every time zone.
 */
export const isActive = (time: string, graceDays: string): string => `
  CASE ${statusAt(time)}
    WHEN 'trial' THEN true
    WHEN 'active' THEN true
    WHEN 'past_due' THEN past_due_since + make_interval(hours => 24 * ${graceDays}) > ${time}
    WHEN 'cancelled' THEN coalesce(current_period_end > ${time}, false)
    ELSE false
  END`;
