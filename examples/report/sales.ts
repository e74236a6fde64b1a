export interface Day {
  date: string;
  orders: number;
  cents: number;
}

const MONTH = /^(\d{4})-(0[1-9]|1[0-2])$/;

export function isMonth(text: string): boolean {
  return MONTH.test(text);
}

/** Made-up sales of each day of a month, the same whenever they are asked for. */
export function salesOf(month: string): Day[] {
  const [, year = '', number = ''] = MONTH.exec(month) ?? [];
  if (year === '') throw new Error(`${month} is no month: expected one like 2026-06`);
  const days = new Date(Date.UTC(Number(year), Number(number), 0)).getUTCDate();
  return Array.from({ length: days }, (_, index) => {
    const date = `${month}-${String(index + 1).padStart(2, '0')}`;
    const chance = noise(date);
    const isWeekend = [0, 6].includes(new Date(date).getUTCDay());
    const orders = Math.round((isWeekend ? 90 : 140) + chance * 60);
    return { date, orders, cents: orders * (38_00 + Math.round(noise(`${date} price`) * 900)) };
  });
}

/** A number from 0 to 1 that belongs to a text: FNV-1a. */
function noise(text: string): number {
  let hash = 2_166_136_261;
  for (const letter of text) hash = Math.imul(hash ^ letter.charCodeAt(0), 16_777_619) >>> 0;
  return ((hash ^ (hash >>> 15)) % 10_000) / 10_000;
}
