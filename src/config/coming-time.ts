import { ValidateBy } from 'class-validator';
import { CronTime } from 'cron';

/** A cron expression that names a time there is: not the 31st of February. */
export function ComingTime(): PropertyDecorator {
  return ValidateBy({
    name: 'comingTime',
    validator: {
      validate: everComes,
      defaultMessage: () =>
        '$property is no time that ever comes; set five fields (minute, hour, day, month, weekday) such as "0 3 * * *"',
    },
  });
}

function everComes(expression: string): boolean {
  try {
    new CronTime(expression, 'UTC', null).getNextDateFrom(new Date(0), 'UTC');
    return true;
  } catch {
    return false;
  }
}
