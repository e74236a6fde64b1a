/** A country that the shop sends to. Names and e-mail addresses are made up; the domains are reserved for examples. */
export interface Country {
  code: string;
  share: number;
  /** Days from the parcel's handing over to its promised arrival. */
  days: number;
  shippingCents: number;
  carriers: readonly string[];
  cities: readonly string[];
  firstNames: readonly string[];
  lastNames: readonly string[];
}

const words = (text: string): string[] => text.split(', ');

export const COUNTRIES: readonly Country[] = [
  {
    code: 'DE',
    share: 34,
    days: 3,
    shippingCents: 490,
    carriers: ['DHL', 'DHL', 'DPD'],
    cities: words('Berlin, Hamburg, Leipzig, Freiburg, Bremen, Kassel, Dresden, Rostock, Nürnberg, Münster'),
    firstNames: words(
      'Anke, Birte, Carsten, Doreen, Enno, Frauke, Gerrit, Heike, Ingo, Jule, Kilian, Lennart',
    ),
    lastNames: words(
      'Ahlers, Brinkhoff, Dornseif, Eilers, Feddersen, Harms, Kettler, Lohmar, Petersdorf, Wessling',
    ),
  },
  {
    code: 'NL',
    share: 14,
    days: 3,
    shippingCents: 590,
    carriers: ['PostNL', 'PostNL', 'DHL'],
    cities: words('Utrecht, Groningen, Arnhem, Haarlem, Zwolle, Leiden'),
    firstNames: words('Aafke, Bram, Doutzen, Femke, Gijs, Jelle, Lotte, Maarten, Sanne, Wouter'),
    lastNames: words('Bakhuis, Dijkema, Hoekstra, Kuipers, Postma, Terpstra, Veldkamp, Wiersma, Zijlstra'),
  },
  {
    code: 'NO',
    share: 9,
    days: 6,
    shippingCents: 1290,
    carriers: ['PostNord', 'PostNord', 'DHL'],
    cities: words('Oslo, Bergen, Trondheim, Tromsø, Bodø, Voss'),
    firstNames: words('Astrid, Eirik, Gro, Håkon, Ingrid, Kjersti, Odd, Ragnhild, Sindre, Torunn'),
    lastNames: words('Bakkevold, Fjeldstad, Hagelund, Kvamme, Lien, Nesheim, Solbakken, Tveit, Vikøren'),
  },
  {
    code: 'SE',
    share: 11,
    days: 5,
    shippingCents: 890,
    carriers: ['PostNord', 'PostNord', 'UPS'],
    cities: words('Stockholm, Uppsala, Göteborg, Umeå, Kiruna, Lund'),
    firstNames: words('Agneta, Björn, Elin, Fredrik, Gunilla, Henrik, Linnea, Maja, Rasmus, Tove'),
    lastNames: words('Almgren, Bergvall, Dahlström, Ekwall, Forslund, Hedman, Lindkvist, Norén, Sandberg'),
  },
  {
    code: 'FR',
    share: 12,
    days: 4,
    shippingCents: 790,
    carriers: ['Colissimo', 'Colissimo', 'UPS'],
    cities: words('Grenoble, Annecy, Lyon, Nantes, Rennes, Chamonix'),
    firstNames: words('Aurélie, Bastien, Camille, Damien, Élodie, Fabrice, Hélène, Julien, Maëlle, Yann'),
    lastNames: words('Aubrac, Bellanger, Chauvet, Delcourt, Fontenay, Guérin, Lacombe, Morvan, Tessier'),
  },
  {
    code: 'AT',
    share: 8,
    days: 3,
    shippingCents: 690,
    carriers: ['Austrian Post', 'GLS'],
    cities: words('Innsbruck, Graz, Wien, Salzburg, Dornbirn'),
    firstNames: words('Barbara, Christoph, Elisabeth, Florian, Johanna, Klemens, Magdalena, Valentin'),
    lastNames: words('Achleitner, Brandstetter, Egger, Hinterberger, Kofler, Moosbrugger, Rainer, Sailer'),
  },
  {
    code: 'ES',
    share: 6,
    days: 6,
    shippingCents: 990,
    carriers: ['GLS', 'UPS'],
    cities: words('Huesca, Bilbao, Granada, Girona, Oviedo'),
    firstNames: words('Ainhoa, Borja, Elvira, Gonzalo, Itziar, Leire, Nuria, Unai'),
    lastNames: words('Arrieta, Bermejo, Echevarria, Lozano, Olmedo, Pedrosa, Urrutia, Zabala'),
  },
  {
    code: 'DK',
    share: 6,
    days: 4,
    shippingCents: 790,
    carriers: ['PostNord', 'GLS'],
    cities: words('Aarhus, Odense, København, Aalborg'),
    firstNames: words('Bodil, Ditte, Esben, Freja, Jeppe, Kirsten, Mikkel, Signe'),
    lastNames: words('Brogaard, Dalsgaard, Fogh, Højlund, Krogh, Lauridsen, Ravn, Skovgaard'),
  },
];

export const DOMAINS = ['example.com', 'example.net', 'example.org'];
